//! What came of a build, as lines.

use std::fmt::Write;

/// An image or none.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// Lines of the tree, the configuration and the history.
    Built(Vec<String>),
    /// With the reason; that of BuildKit is of no interest.
    Refused(String),
}

impl PartialEq for Outcome {
    /// Reasons do not count.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Built(mine), Self::Built(others)) => mine == others,
            (Self::Refused(_), Self::Refused(_)) => true,
            _ => false,
        }
    }
}

impl Outcome {
    /// Reads what [`Outcome::text`] wrote.
    pub(crate) fn parse(text: &str) -> Self {
        match text.strip_prefix("refused\n") {
            Some(_) => Self::Refused(String::new()),
            None => Self::Built(text.lines().map(str::to_owned).collect()),
        }
    }

    /// As it is kept; of a refusal the fact.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Refused(_) => "refused\n".to_owned(),
            Self::Built(lines) => lines.iter().fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "{line}");
                text
            }),
        }
    }

    /// What is compared: the lines; where only one has built it, that it has.
    pub(crate) fn against(&self, other: &Self) -> Vec<String> {
        match (self, other) {
            (Self::Built(lines), Self::Built(_)) => lines.clone(),
            (Self::Built(_), Self::Refused(_)) => vec!["built".to_owned()],
            (Self::Refused(_), _) => vec!["refused".to_owned()],
        }
    }
}
