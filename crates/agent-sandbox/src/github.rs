//! How to reach GitHub, and with which token.

use std::path::Path;
use std::time::Duration;

use abx_core::Secret;
use abx_source::GithubSettings;

use crate::{Context, FetchOptions};

/// A `.env` has no reason to be larger.
const FILE_CAP: u64 = 64 << 10;

/// The token is the caller's, else the environment's, else that of `./.env`, else the stored one.
pub(crate) fn settings(context: &Context, options: &FetchOptions) -> GithubSettings {
    let stored = || {
        let working = read(&context.cwd.join(".env"), "GITHUB_TOKEN");
        working.or_else(|| read(&context.user_home.as_ref()?.join(".abx/.env"), "github_token"))
    };
    GithubSettings {
        api: context.github_api.clone(),
        token: options.token.as_ref().or(context.github_token.as_ref()).cloned().or_else(stored),
        network: context.host.clone(),
        cache_ttl: Duration::from_secs(context.settings.cache_ttl),
        offline: options.offline,
        no_cache: options.no_cache,
        ..GithubSettings::default()
    }
}

/// The value of one key in a file of `KEY=VALUE` lines; a file that is not there or no text has none.
fn read(path: &Path, key: &str) -> Option<Secret> {
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > FILE_CAP {
        return None;
    }
    value(&std::fs::read_to_string(path).ok()?, key)
}

/// Later lines win, as in a shell.
fn value(text: &str, key: &str) -> Option<Secret> {
    let value = |line: &str| {
        let line = line.trim();
        let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
        (name.trim() == key).then(|| unquoted(value.trim()).to_owned())
    };
    text.lines().filter_map(value).next_back().filter(|value| !value.is_empty()).map(Secret::new)
}

fn unquoted(value: &str) -> &str {
    let within = |quote| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    match within('"').or(within('\'')) {
        Some(value) => value,
        // What follows is a comment.
        None => value.split(" #").next().unwrap_or_default().trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_among_others() {
        for (text, expected) in [
            ("GITHUB_TOKEN=a", Some("a")),
            ("# GITHUB_TOKEN=a\nX=1\nexport GITHUB_TOKEN=\"b\"\n", Some("b")),
            ("GITHUB_TOKEN='c'\r\n", Some("c")),
            ("GITHUB_TOKEN=d # mine", Some("d")),
            ("GITHUB_TOKEN=a\nGITHUB_TOKEN=b", Some("b")),
            ("GITHUB_TOKEN=", None),
            ("NOT_GITHUB_TOKEN=a", None),
        ] {
            let found = value(text, "GITHUB_TOKEN");
            assert_eq!(found.as_ref().map(Secret::expose), expected, "{text:?}");
        }
    }
}
