//! Why a word cannot be expanded.

use abx_core::{Code, Fault};

use crate::limits::{NESTING, WORD_BYTES};

/// A word that cannot be expanded (E2004).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExpandError {
    #[error("a {quote} is not closed")]
    Quote { quote: char },
    #[error("`${{` is not closed")]
    Brace,
    #[error("`${{` is followed by no name")]
    NoName,
    #[error("`${{{name}{operator}` is no expansion that is known here")]
    Operator { name: String, operator: String },
    #[error("`{name}` {}", why(.message, .is_set))]
    Required { name: String, message: String, is_set: bool },
    #[error("braces are nested more than {NESTING} deep")]
    TooDeep,
    #[error("the expanded word is longer than {WORD_BYTES} bytes")]
    TooLong,
}

fn why(message: &str, is_set: &bool) -> String {
    match (message, is_set) {
        ("", false) => "is not set".into(),
        ("", true) => "is empty".into(),
        (message, _) => format!("must be set: {message}"),
    }
}

impl Fault for ExpandError {
    fn code(&self) -> Code {
        Code::SpecInvalid
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Quote { .. } => "close it, or write a backslash before a quote that is meant literally",
            Self::Brace | Self::NoName => "write `\\$` for a dollar that is meant literally",
            Self::Operator { .. } => {
                "the operators are `:-` `:+` `:?` `-` `+` `?` `#` `##` `%` `%%` `/` and `//`"
            }
            Self::Required { .. } => return vec!["set it by ENV, or by ARG and `--build-arg`".into()],
            Self::TooDeep | Self::TooLong => return Vec::new(),
        };
        vec![hint.into()]
    }
}
