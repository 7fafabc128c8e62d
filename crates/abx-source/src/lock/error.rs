//! What can go wrong with a lock file.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::{Code, Fault, Snippet};
use abx_reference::Reference;

use super::{Drift, VERSION, short};

/// Why a lock cannot be used, or does not hold. Files are called as the user knows them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    #[error("{message}")]
    Malformed { message: String, place: Box<Snippet> },
    #[error("{file} has version {version}, and this program reads version {VERSION}")]
    Newer { file: String, version: i64 },
    /// Where one is needed; `subject` is what the user asked for, `other` what a lock that is there is of.
    #[error("`{subject}` has no template.lock")]
    Missing { subject: String, other: Option<String> },
    /// Under `--frozen`.
    #[error("{file} no longer holds: {}", count(.drift))]
    Drift { file: String, subject: String, drift: Vec<Drift> },
    /// Under `--frozen`, after it was seen not to have drifted.
    #[error("the base image moved on meanwhile: {drift}")]
    Moved { drift: Drift },
    /// A commit is what it is; a package that differs at the same commit has been tampered with, here or there.
    #[error("`{reference}` at {} is not what {file} says: expected {locked}, found {found}", short(.commit))]
    Digest { file: String, reference: String, commit: String, locked: String, found: String },
    /// Nobody's lock is overwritten by another template's.
    #[error("{file} is the lock of `{top}`, not of `{subject}`")]
    Occupied { file: String, top: String, subject: String },
    #[error("no lock can lie beside `{subject}`: it is no folder of yours")]
    NoPlace { subject: String },
    #[error("cannot {verb} {}", .path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
}

impl LockError {
    /// For `map_err`.
    pub fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }
}

impl Fault for LockError {
    fn code(&self) -> Code {
        match self {
            Self::Malformed { .. } | Self::Newer { .. } | Self::Occupied { .. } | Self::NoPlace { .. } => {
                Code::SpecInvalid
            }
            Self::Missing { .. } | Self::Drift { .. } | Self::Moved { .. } => Code::LockDrift,
            Self::Digest { .. } => Code::DigestMismatch,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
                io::ErrorKind::NotFound => Code::FileNotFound,
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::FileSize,
                _ => Code::File,
            },
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Malformed { .. } => {
                vec!["`abx template lock` writes it: after a merge, take one side's and lock again".into()]
            }
            Self::Newer { .. } => vec!["a newer abx wrote it: use that one".into()],
            Self::Missing { subject, other: None } => {
                vec![format!("`abx template lock {subject}` writes it")]
            }
            Self::Missing { subject, other: Some(other) } => vec![
                format!("the template.lock that is there is of `{other}`"),
                format!("`abx template lock {subject}` writes one"),
            ],
            Self::Drift { subject, .. } => {
                vec![format!("`abx template lock {subject}` takes over what has changed, and nothing else")]
            }
            Self::Digest { reference, commit, .. } => {
                let again = match Reference::parse(reference) {
                    Ok(Reference::Github(github)) => {
                        format!("`abx template resolve {} --no-cache` fetches it anew", github.at(commit))
                    }
                    _ => "`--no-cache` fetches it anew".to_owned(),
                };
                vec![again, "if it stays so, do not use it before you know why".into()]
            }
            Self::Occupied { .. } => vec!["give the file to write: `-o FILE`".into()],
            Self::NoPlace { .. } => {
                vec!["lock the folder it was packed from, or the reference it was fetched by".into()]
            }
            Self::Moved { .. } | Self::Io { .. } => Vec::new(),
        }
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::Malformed { place, .. } => vec![(**place).clone()],
            _ => Vec::new(),
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::Drift { drift, .. } => drift.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        }
    }
}

fn count(drift: &[Drift]) -> String {
    match drift.len() {
        1 => "one entry differs".to_owned(),
        number => format!("{number} entries differ"),
    }
}
