//! What can go wrong with settings.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::{Code, Fault, Snippet, without_credentials};

use super::key::KEYS;
use super::secrets::{SECRETS, is_secret};

/// Why a setting cannot be read or written. No secret is ever in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("{}: {message}", place.file)]
    Syntax { message: String, place: Box<Snippet> },
    /// `place` where a file has it.
    #[error("there is no setting `{name}`")]
    UnknownKey { name: String, near: Vec<String>, place: Option<Box<Snippet>> },
    /// `name` is a key, or the variable that stands for it.
    #[error("`{}` does not fit `{name}`", without_credentials(value))]
    Value { name: String, value: String, expected: String, place: Option<Box<Snippet>> },
    /// Never with the value.
    #[error("this does not look like a value for `{name}`")]
    SecretValue { name: &'static str, reason: &'static str },
    #[error("`{name}` needs a value")]
    NoValue { name: String },
    #[error("`{low}` is above `{high}`")]
    Order { low: &'static str, high: &'static str },
    #[error("`{name}` is a secret and does not belong in {}", place.file)]
    SecretInFile { name: &'static str, place: Box<Snippet> },
    #[error("{} is a symbolic link", path.display())]
    Link { path: PathBuf },
    #[error("{} is no folder of yours", path.display())]
    Foreign { path: PathBuf },
    #[error("where settings are kept is unknown without a home folder")]
    NoHome,
    #[error("{} is no text", path.display())]
    NotText { path: PathBuf },
    #[error("cannot {verb} {}", path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
}

impl SettingsError {
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }

    /// No such key; says which ones are like it.
    pub(crate) fn unknown(name: &str, place: Option<Box<Snippet>>) -> Self {
        let known = KEYS.iter().map(|key| key.name).chain(SECRETS.iter().map(|secret| secret.name));
        // `HOST` is as far from a host as can be: what is around it tells.
        let pattern = match super::key::path(name).as_slice() {
            [section, host, leaf] if section == "registry" && host != "HOST" => {
                format!("registry.HOST.{leaf}")
            }
            _ => name.to_owned(),
        };
        let near = abx_spec::near::near(&pattern, known).into_iter().map(str::to_owned).collect();
        Self::UnknownKey { name: name.to_owned(), near, place }
    }

    pub(crate) fn variable(variable: &str, value: &str, expected: String) -> Self {
        let (name, value) = (variable.to_owned(), value.to_owned());
        Self::Value { name, value, expected, place: None }
    }
}

/// The line at `offset` of a text. What is said of a secret there is not shown.
pub(crate) fn snippet(file: &Path, text: &str, span: std::ops::Range<usize>) -> Box<Snippet> {
    let place = Snippet::of_span(&file.display().to_string(), text, span);
    Box::new(Snippet { source: harmless(&place.source), ..place })
}

/// A line without the secret that stands in it.
fn harmless(line: &str) -> String {
    match line.split_once('=') {
        Some((name, _)) if is_secret(name.trim().trim_matches(['"', '\''])) => format!("{name}= ****"),
        _ => without_credentials(line).into_owned(),
    }
}

impl Fault for SettingsError {
    fn code(&self) -> Code {
        match self {
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::FileSize,
                _ => Code::File,
            },
            Self::Link { .. } | Self::Foreign { .. } => Code::FilePermission,
            _ => Code::SpecInvalid,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::UnknownKey { near, .. } => {
                let mut hints: Vec<String> = (!near.is_empty())
                    .then(|| format!("did you mean `{}`?", near.join("` or `")))
                    .into_iter()
                    .collect();
                hints.push("`abx config list` shows all there are".into());
                hints
            }
            Self::Value { expected, .. } => vec![format!("expected: {expected}")],
            Self::SecretValue { reason, .. } => vec![(*reason).to_owned()],
            Self::NoValue { name } => {
                vec![format!(
                    "`abx config set {name} VALUE`; `abx config unset {name}` goes back to the default"
                )]
            }
            Self::SecretInFile { name, .. } => {
                vec![format!(
                    "`abx config set {name}` asks for it, keeps it in ~/.abx/.env and takes this line out"
                )]
            }
            Self::Link { .. } => {
                vec!["secrets are kept in a file of their own: remove the link first".into()]
            }
            Self::Foreign { .. } => vec!["it must belong to you, and be a folder".into()],
            Self::NoHome => vec!["set HOME".into()],
            _ => Vec::new(),
        }
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::Syntax { place, .. } | Self::SecretInFile { place, .. } => vec![(**place).clone()],
            Self::UnknownKey { place: Some(place), .. } | Self::Value { place: Some(place), .. } => {
                vec![(**place).clone()]
            }
            _ => Vec::new(),
        }
    }
}
