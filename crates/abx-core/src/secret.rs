//! A string that cannot be printed by accident, and addresses without the password that may stand in them.

use std::borrow::Cow;

/// Holds a token or password. `Debug` and `Display` print stars; it does not serialise.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself: for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("****")
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("****")
    }
}

/// A text with stars for who logs in where it has an address: `https://****@host/`, a star a character. Only a digest
/// and the user `git`, which all of the world is, stay as they are.
pub fn without_credentials(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(found) = text[from..].find("://") {
        let start = from + found + "://".len();
        let ends = |letter: char| matches!(letter, '/' | '?' | '#' | '"' | '\'') || letter.is_whitespace();
        let end = text[start..].find(ends).map_or(text.len(), |length| start + length);
        let user = text[start..end]
            .rsplit_once('@')
            .filter(|(user, host)| *user != "git" && !host.starts_with("sha256:"));
        if let Some((user, _)) = user {
            let stars = "*".repeat(user.chars().count());
            // Stars may be fewer bytes than what they stand for: what is behind counts from the end.
            let (at, behind) = (shown.len() - (text.len() - start), text.len() - start - user.len());
            let until = shown.len() - behind;
            shown.to_mut().replace_range(at..until, &stars);
        }
        from = end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn who_logs_in_at_an_address_is_not_shown() {
        for (text, shown) in [
            ("https://user:pw@host/x", "https://*******@host/x"),
            ("https://tök@host", "https://***@host"),
            ("a https://p@h/ and ssh://é:@h/ too", "a https://*@h/ and ssh://**@h/ too"),
            ("from: \"https://a@b@h/o\"", "from: \"https://***@h/o\""),
            ("ssh://git@host/o/r", "ssh://git@host/o/r"),
            ("docker://debian:1@sha256:00", "docker://debian:1@sha256:00"),
            ("https://host/o/r@v1", "https://host/o/r@v1"),
            ("o/r@v1", "o/r@v1"),
            ("://@", "://@"),
            ("", ""),
        ] {
            assert_eq!(without_credentials(text), shown);
        }
    }
}
