//! What there is to say of a setting.

use std::path::PathBuf;

use serde::Serialize;

/// A setting and what it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub key: String,
    /// Stars for a secret; `None` where it has none.
    pub value: Option<String>,
    pub source: Source,
    /// The variable or file.
    pub origin: Option<String>,
    pub is_secret: bool,
    pub help: &'static str,
    /// What fits.
    pub expects: String,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Default,
    File,
    Environment,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
        })
    }
}

/// What was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub key: String,
    pub file: PathBuf,
    /// Whether it had a value there before.
    pub was_set: bool,
    /// What has the last word all the same: a variable, say.
    pub overridden_by: Option<String>,
    /// What else was done, in words.
    #[serde(skip)]
    pub notes: Vec<String>,
}
