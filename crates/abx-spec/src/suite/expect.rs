//! What a text must be.

use regex_lite::{Regex, RegexBuilder};

/// One demand on a text. Line ends at its end do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// It is this.
    Equals(String),
    /// It has this in it.
    Contains(String),
    /// It does not.
    Excludes(String),
    /// This regular expression finds something in it; `^` and `$` stand for the ends of a line.
    Matches(String),
}

/// Whether a text meets a demand. Of a pattern that means nothing, no text does.
pub fn holds(expect: &Expect, text: &str) -> bool {
    let text = trimmed(text);
    match expect {
        Expect::Equals(wanted) => text == trimmed(wanted),
        Expect::Contains(part) => text.contains(part),
        Expect::Excludes(part) => !text.contains(part),
        Expect::Matches(pattern) => compile(pattern).is_ok_and(|regex| regex.is_match(text)),
    }
}

pub(crate) fn compile(pattern: &str) -> Result<Regex, regex_lite::Error> {
    RegexBuilder::new(pattern).multi_line(true).build()
}

/// A text without the line ends at its end.
fn trimmed(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

impl std::fmt::Display for Expect {
    /// As a failed test says it: `text`, `… in it`, `/pattern/`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equals(text) => write!(f, "{}", trimmed(text)),
            Self::Contains(part) => write!(f, "`{part}` in it"),
            Self::Excludes(part) => write!(f, "`{part}` not in it"),
            Self::Matches(pattern) => write!(f, "a match of /{pattern}/"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_meet_their_demands() {
        let rows = [
            (Expect::Equals("a\nb".into()), "a\nb\n", true),
            (Expect::Equals("a\n".into()), "a", true),
            (Expect::Equals(String::new()), "\n", true),
            (Expect::Equals("a".into()), "a ", false),
            (Expect::Contains("b".into()), "abc", true),
            (Expect::Contains("d".into()), "abc", false),
            (Expect::Excludes("d".into()), "abc", true),
            (Expect::Excludes("b".into()), "abc", false),
            (Expect::Matches("^b$".into()), "a\nb\nc\n", true),
            (Expect::Matches("^user\n1000$".into()), "user\n1000\n", true),
            (Expect::Matches("^c".into()), "abc", false),
            (Expect::Matches("(".into()), "(", false),
        ];
        for (expect, text, expected) in rows {
            assert_eq!(holds(&expect, text), expected, "{expect:?} of {text:?}");
        }
    }
}
