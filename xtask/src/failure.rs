//! Why a chore failed.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a chore failed: the subject and the cause.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    Usage(String),
    /// A program could not be started.
    Start { program: String, source: std::io::Error },
    /// A program ended badly; `output` is the end of what it said, may be empty.
    Command { command: String, status: String, output: String },
    /// A file could not be read or written.
    File { path: PathBuf, source: std::io::Error },
    /// What a program or file said is not what it should be.
    Unexpected { subject: String, found: String },
    /// So many problems were found, and printed.
    Problems(usize),
}

impl Failure {
    /// For `map_err` on a file operation.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// `subject` is not as it should be.
    pub(crate) fn unexpected(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Unexpected { subject: subject.into(), found: found.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => f.write_str(text),
            Self::Start { program, source } => write!(f, "cannot start {program}: {source}"),
            Self::Command { command, status, output } if output.is_empty() => {
                write!(f, "{command}: {status}")
            }
            Self::Command { command, status, output } => write!(f, "{command}: {status}\n{output}"),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Unexpected { subject, found } => write!(f, "{subject}: {found}"),
            Self::Problems(1) => f.write_str("1 problem"),
            Self::Problems(count) => write!(f, "{count} problems"),
        }
    }
}

impl std::error::Error for Failure {}
