//! `.env`: secrets, a line each.

use abx_core::Secret;

/// A key whose value is never shown.
#[derive(Debug)]
pub struct SecretKey {
    pub name: &'static str,
    /// The variable that goes before the file.
    pub variable: &'static str,
    /// One line, without a full stop.
    pub help: &'static str,
}

/// All of them.
pub static SECRETS: &[SecretKey] = &[SecretKey {
    name: "github_token",
    variable: "GITHUB_TOKEN",
    help: "token for GitHub: private repositories, and 5000 requests an hour instead of 60",
}];

/// The longest that a token may be.
const LENGTH: usize = 1024;

/// The secret of this name; that of its variable is as good.
pub fn secret(name: &str) -> Option<&'static SecretKey> {
    SECRETS.iter().find(|secret| secret.is(name))
}

pub(crate) fn is_secret(name: &str) -> bool {
    secret(name).is_some()
}

impl SecretKey {
    fn is(&self, name: &str) -> bool {
        name == self.name || name == self.variable
    }

    /// Takes what a user typed or pasted.
    ///
    /// # Errors
    /// Why it cannot be one, without a word of it.
    pub fn read(&self, text: &str) -> Result<Secret, &'static str> {
        let text = text.trim();
        let letter = |letter: u8| letter.is_ascii_alphanumeric() || b"-._~+/=".contains(&letter);
        match text {
            "" => Err("it is empty"),
            _ if text.len() > LENGTH => Err("it is longer than any token"),
            _ if !text.bytes().all(letter) => Err("copy it again, without quotes, spaces and line breaks"),
            _ => Ok(Secret::new(text)),
        }
    }
}

/// The value of a key in a file of `KEY=VALUE` lines. Later lines win, as in a shell.
pub(crate) fn value(text: &str, is_key: impl Fn(&str) -> bool) -> Option<Secret> {
    let values = text.lines().filter_map(|line| assignment(line).filter(|(name, _)| is_key(name)));
    values.map(|(_, value)| value).next_back().filter(|value| !value.is_empty()).map(Secret::new)
}

/// The value of a stored secret.
pub(crate) fn stored(text: &str, key: &SecretKey) -> Option<Secret> {
    value(text, |name| key.is(name))
}

/// The text with the secret set, or without it; all other lines stay.
pub(crate) fn edit(text: &str, key: &SecretKey, secret: Option<&Secret>) -> String {
    let is_ours = |line: &str| assignment(line).is_some_and(|(name, _)| key.is(name));
    let mut new = String::new();
    let mut secret = secret;
    for line in text.lines() {
        match is_ours(line) {
            false => new.extend([line, "\n"]),
            // In the place of the first; further ones would win over it.
            true => new.extend(secret.take().map(|secret| format!("{}={}\n", key.name, secret.expose()))),
        }
    }
    new.extend(secret.map(|secret| format!("{}={}\n", key.name, secret.expose())));
    new
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    Some((name.trim(), unquoted(value.trim())))
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
            let found = value(text, |name| name == "GITHUB_TOKEN");
            assert_eq!(found.as_ref().map(Secret::expose), expected, "{text:?}");
        }
    }

    #[test]
    fn editing_leaves_other_lines_alone() {
        let key = secret("github_token").expect("a key");
        let new = Secret::new("new");
        for (text, set, unset) in [
            ("", "github_token=new\n", ""),
            ("a=1\n# b\n", "a=1\n# b\ngithub_token=new\n", "a=1\n# b\n"),
            ("github_token=old\nx=2", "github_token=new\nx=2\n", "x=2\n"),
            ("export GITHUB_TOKEN='o'\nx=2\ngithub_token=p\n", "github_token=new\nx=2\n", "x=2\n"),
        ] {
            assert_eq!(edit(text, key, Some(&new)), set, "{text:?}");
            assert_eq!(edit(text, key, None), unset, "{text:?}");
            assert_eq!(stored(set, key), Some(new.clone()));
        }
    }

    #[test]
    fn what_no_token_is() {
        let key = secret("GITHUB_TOKEN").expect("a key");
        for text in ["", "  ", "two words", "\"quoted\"", "ghp_é", "a\u{7}b"] {
            assert!(key.read(text).is_err(), "{text:?}");
        }
        assert_eq!(key.read(" ghp_Abc123 \n").expect("a token").expose(), "ghp_Abc123");
    }
}
