//! Missing modules: when to look for one, and what the helper in the kernel says of it.

use abx_protocol::code::{AutoInstall, CodeError};
use serde_json::{Map, Value, json};

use crate::forms::INSTALL;

/// Whether the cell lacked a module.
pub(crate) fn is_missing(error: &CodeError) -> bool {
    error.name == "ModuleNotFoundError" && module(&error.value).is_some()
}

/// What to run in the kernel to have the missing module installed.
pub(crate) fn request(error: &CodeError, code: &str) -> Option<String> {
    let module = module(&error.value)?;
    Some(format!("__import__('_abx').install({}, {})", json!(module), json!(code)))
}

/// `No module named 'a.b'`, and nothing more: with `'a' is not a package` behind it there is nothing to install.
fn module(message: &str) -> Option<&str> {
    let name = message.strip_prefix("No module named '")?.strip_suffix('\'')?;
    let is_word = |word: &str| {
        word.starts_with(|letter: char| letter == '_' || letter.is_alphabetic())
            && word.chars().all(|letter| letter == '_' || letter.is_alphanumeric())
    };
    name.split('.').all(is_word).then_some(name)
}

/// What the helper says, among the forms it shows.
pub(crate) fn news(forms: &Map<String, Value>) -> Option<AutoInstall> {
    serde_json::from_value(forms.get(INSTALL)?.clone()).ok()
}

/// The same in words, for clients that know only output.
pub(crate) fn said(news: &AutoInstall) -> String {
    let AutoInstall { module, distributions, installed, reason } = news;
    match (installed, distributions.is_empty()) {
        (true, _) => {
            format!("abx: installed {} for `{module}`; the cell runs once more\n", distributions.join(", "))
        }
        (false, true) => format!("abx: `{module}` is not installed: {reason}\n"),
        (false, false) => {
            format!("abx: cannot install {} for `{module}`: {reason}\n", distributions.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_module_that_is_missing_is_looked_for() {
        let rows = [
            ("No module named 'yaml'", Some("yaml")),
            ("No module named 'google.cloud.storage'", Some("google.cloud.storage")),
            ("No module named 'json.x'; 'json' is not a package", None),
            ("No module named 'a; import b'", None),
            ("No module named ''", None),
            ("custom", None),
        ];
        for (message, expect) in rows {
            assert_eq!(module(message), expect, "{message}");
        }
        let error = |name: &str| CodeError {
            name: name.into(),
            value: "No module named 'a'".into(),
            ..CodeError::default()
        };
        assert!(is_missing(&error("ModuleNotFoundError")) && !is_missing(&error("ImportError")));
    }
}
