//! What can go wrong between a reference and its lineage.

use std::io;
use std::path::{Path, PathBuf};
use std::string::FromUtf8Error;

use abx_core::{Code, Fault, Snippet};
use abx_reference::{Github, ReferenceError, Registry};
use abx_spec::Invalid;

use crate::archive::ArchiveFault;
use crate::catalog::CatalogError;
use crate::faults::Faults;
use crate::github::GithubError;
use crate::local_archive;
use crate::lock::LockError;
use crate::registry::RegistryError;
use crate::vendored::VendoredError;

/// Why a reference came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// No template of this name; `near` are names like it, `beside` a directory of the same name.
    #[error("there is no template called `{name}`")]
    UnknownName { name: String, near: Vec<String>, beside: Option<String>, catalog: Catalogue },
    /// There is no catalog to look into.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error("`{text}` cannot be the official repository")]
    OfficialMalformed { text: String },
    #[error("`{name}` has no version `{selector}`")]
    NoVersion {
        name: String,
        selector: String,
        available: Vec<String>,
        /// The reference of a repository that may have it.
        elsewhere: Option<String>,
    },
    /// An image has the name, but nothing was kept of its template.
    #[error("the image of `{name}:{tag}` is here, but not its specification")]
    NotKept { name: String, tag: String },
    #[error("the specification kept for `{name}:{tag}` is damaged")]
    KeptDamaged { name: String, tag: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("there is no {} `{display}`", if crate::local::is_archive_name(display) { "archive" } else { "directory" })]
    NoDirectory { display: String },
    #[error("`{display}` is a file, and a template is a directory with a template.yaml")]
    NotDirectory { display: String },
    #[error("there is no template.yaml in `{display}`")]
    NoTemplate { display: String, like: Option<String> },
    #[error("`{display}` has both a template.yaml and a sandbox.yaml")]
    BothFiles { display: String },
    /// A folder with a Dockerfile alone that is not the user's own.
    #[error("there is no template.yaml in `{display}`, but a Dockerfile alone")]
    DockerfileAlone { display: String },
    /// A folder that is no name for the template it holds.
    #[error(
        "`{display}` has a Dockerfile and no template.yaml, and its folder's name cannot name a template"
    )]
    NoName { display: String },
    /// All that is wrong with a package, its Dockerfile among it.
    #[error(transparent)]
    Faults(#[from] Faults),
    #[error("`{file}` is no UTF-8 text, from line {line} on")]
    NotText { file: String, line: usize },
    #[error("where `{display}` lies is unknown without a home directory")]
    NoHome { display: String },
    /// It is on GitHub, and nobody has fetched it: see [`fetch`](crate::fetch).
    #[error("`{reference}` has not been fetched from GitHub")]
    NotFetched { reference: Box<Github> },
    /// `beside` is a directory of the same name.
    #[error("{error}")]
    Github {
        #[source]
        error: Box<GithubError>,
        beside: Option<String>,
    },
    /// It is an archive, and nobody has unpacked it: see [`fetch`](crate::fetch()).
    #[error("`{display}` has not been unpacked")]
    NotUnpacked { file: PathBuf, display: String },
    #[error("cannot use `{display}`: {fault}")]
    Archive {
        display: String,
        #[source]
        fault: ArchiveFault,
    },
    #[error("cannot use `{display}`: {error}")]
    Vendored {
        display: String,
        #[source]
        error: Box<VendoredError>,
    },
    #[error(transparent)]
    Registry(Box<RegistryError>),
    #[error("`{reference}` leads out of the repository or archive of `{child}`")]
    LeavesRepository { reference: String, child: String },
    #[error("the built-in template cannot inherit from the directory `{reference}`")]
    DirectoryFromBuiltin { reference: String },
    /// The file of a package means nothing.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("templates inherit from each other in a circle: {}", .path.join(" → "))]
    Cycle { path: Vec<String> },
    #[error("more than {limit} templates inherit from each other: {}", .path.join(" → "))]
    TooDeep { path: Vec<String>, limit: usize },
    #[error("cannot {verb} `{}`", .path.display())]
    Io { path: PathBuf, verb: &'static str, source: io::Error },
    /// An ancestor could not be had; the place is where a descendant names it.
    #[error("{error}")]
    Ancestor {
        #[source]
        error: Box<Self>,
        at: Box<Snippet>,
    },
}

/// What the catalog has said to a name that is unknown else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catalogue {
    /// Nobody has asked it: see [`fetch`](crate::fetch).
    Unasked,
    /// It has no such name.
    Asked,
    /// It could not be asked, and why.
    Failed(String),
}

impl From<RegistryError> for SourceError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(Box::new(error))
    }
}

/// What resolving goes on with once it is at hand.
pub(crate) enum Wanted {
    Repository(Github),
    /// What a name in a registry stands for.
    Image(Registry),
    /// The index of templates.
    Catalog,
    /// A file as resolving came to it, and as the user knows it.
    Archive {
        file: PathBuf,
        display: String,
    },
}

impl SourceError {
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, verb, source }
    }

    /// Of the bytes of a file that were read as text.
    pub(crate) fn not_text(file: &str, error: &FromUtf8Error) -> Self {
        let sound = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = 1 + sound.iter().filter(|byte| **byte == b'\n').count();
        Self::NotText { file: file.to_owned(), line }
    }

    /// What has to be fetched before this goes on.
    pub(crate) fn wanted(&self) -> Option<Wanted> {
        match self {
            Self::Registry(error) => match &**error {
                RegistryError::Unasked { reference } => Some(Wanted::Image(reference.clone())),
                _ => None,
            },
            Self::NotFetched { reference } => Some(Wanted::Repository((**reference).clone())),
            Self::UnknownName { catalog: Catalogue::Unasked, .. } => Some(Wanted::Catalog),
            Self::NotUnpacked { file, display } => {
                Some(Wanted::Archive { file: file.clone(), display: display.clone() })
            }
            Self::Ancestor { error, .. } => error.wanted(),
            _ => None,
        }
    }

    /// The same place with another reason.
    pub(crate) fn because(self, reason: Self) -> Self {
        match self {
            Self::Ancestor { error, at } => Self::Ancestor { error: Box::new(error.because(reason)), at },
            _ => reason,
        }
    }

    /// Points at the line that asked for what could not be had, unless the error has a place of its own.
    pub(crate) fn asked_for_at(self, at: Option<Snippet>) -> Self {
        match at {
            Some(at) if self.snippets().is_empty() => {
                Self::Ancestor { error: Box::new(self), at: Box::new(at) }
            }
            _ => self,
        }
    }
}

impl Fault for SourceError {
    fn code(&self) -> Code {
        match self {
            Self::Reference(error) => error.code(),
            Self::UnknownName { .. }
            | Self::NotKept { .. }
            | Self::NoDirectory { .. }
            | Self::NotDirectory { .. }
            | Self::NoTemplate { .. }
            | Self::DockerfileAlone { .. }
            | Self::NoHome { .. } => Code::TemplateNotFound,
            Self::NotUnpacked { .. } => Code::File,
            Self::Archive { fault, .. } => fault.code(),
            Self::Vendored { error, .. } => error.code(),
            Self::NotFetched { .. } => Code::Offline,
            Self::Github { error, .. } => error.code(),
            Self::Registry(error) => error.code(),
            Self::NoVersion { .. } => Code::NoVersion,
            Self::KeptDamaged { .. }
            | Self::BothFiles { .. }
            | Self::NoName { .. }
            | Self::NotText { .. }
            | Self::LeavesRepository { .. }
            | Self::OfficialMalformed { .. }
            | Self::DirectoryFromBuiltin { .. } => Code::SpecInvalid,
            Self::Catalog(error) => error.code(),
            Self::Invalid(invalid) => invalid.code(),
            Self::Faults(faults) => faults.code(),
            Self::Lock(error) => error.code(),
            Self::Cycle { .. } | Self::TooDeep { .. } => Code::Inheritance,
            Self::Io { source, .. } => Code::of_file(source),
            Self::Ancestor { error, .. } => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Reference(error) => error.hints(),
            Self::UnknownName { name, near, beside, catalog } => {
                let mut hints = unknown_name_hints(name, near, beside.as_deref());
                if let Catalogue::Failed(reason) = catalog {
                    hints.push(format!("the catalog could not be asked for it: {reason}"));
                }
                hints
            }
            Self::OfficialMalformed { .. } => {
                vec!["the setting `official_repo` is `owner/repo`, or the absolute path of a checkout".into()]
            }
            Self::NoVersion { available, elsewhere, .. } => {
                let there_is = match available.as_slice() {
                    [] => None,
                    available => Some(format!("there is {}", quoted(available))),
                };
                let newer = |elsewhere: &String| format!("a newer release may be `{elsewhere}`");
                there_is.into_iter().chain(elsewhere.as_ref().map(newer)).collect()
            }
            Self::NotKept { name, tag } | Self::KeptDamaged { name, tag, .. } => {
                vec![format!("build it again: `abx template build PATH --name {name} --tag {tag}`")]
            }
            Self::NoDirectory { .. } | Self::NotDirectory { .. } => {
                vec!["give the directory that holds the template.yaml".into()]
            }
            Self::NoTemplate { like: Some(like), .. } => vec![format!("rename `{like}` to `template.yaml`")],
            Self::NoTemplate { .. } => {
                vec!["the least is `version: \"1\"`, `metadata: {name: …}` and `base: {image: …}`".into()]
            }
            Self::BothFiles { .. } => vec!["keep template.yaml; sandbox.yaml is its older name".into()],
            Self::DockerfileAlone { .. } => {
                vec!["a template for others needs its template.yaml: a name and a version will do".into()]
            }
            Self::NoName { .. } => vec!["give it one: `abx template build PATH --name NAME`".into()],
            // The folder is of no help where it is a file of ours that fails.
            Self::Github { error, .. } if matches!(**error, GithubError::Io { .. }) => error.hints(),
            Self::Github { error, beside } => {
                beside.iter().map(|beside| directory_hint(beside)).chain(error.hints()).collect()
            }
            Self::Io { verb: "write", .. } => self.code().home_hints(),
            Self::Registry(error) => error.hints(),
            Self::LeavesRepository { .. } => {
                vec!["a fetched template reaches its own repository, other repositories and built-ins".into()]
            }
            Self::Archive { fault, .. } => local_archive::hints(fault),
            Self::Vendored { error, .. } => error.hints(),
            Self::Cycle { .. } => vec!["let one of them start from `base.image`".into()],
            Self::TooDeep { .. } => vec!["join some of them into one template".into()],
            Self::Catalog(error) => error.hints(),
            Self::Invalid(invalid) => invalid.hints(),
            Self::Faults(faults) => faults.hints(),
            Self::Lock(error) => error.hints(),
            Self::Ancestor { error, .. } => error.hints(),
            Self::NotText { .. } => vec!["save it in the encoding UTF-8".to_owned()],
            Self::NoHome { .. }
            | Self::NotFetched { .. }
            | Self::NotUnpacked { .. }
            | Self::DirectoryFromBuiltin { .. }
            | Self::Io { .. } => Vec::new(),
        }
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::Catalog(error) => error.snippets(),
            Self::Invalid(invalid) => invalid.snippets(),
            Self::Faults(faults) => faults.snippets(),
            Self::Lock(error) => error.snippets(),
            Self::Ancestor { error, at } => {
                let mut snippets = error.snippets();
                snippets.push((**at).clone());
                snippets
            }
            _ => Vec::new(),
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::Lock(error) => error.details(),
            Self::Ancestor { error, .. } => error.details(),
            _ => Vec::new(),
        }
    }

    fn others(&self) -> Vec<&dyn Fault> {
        match self {
            Self::Catalog(error) => error.others(),
            Self::Invalid(invalid) => invalid.others(),
            Self::Faults(faults) => faults.others(),
            Self::Ancestor { error, .. } => error.others(),
            _ => Vec::new(),
        }
    }
}

fn unknown_name_hints(name: &str, near: &[String], beside: Option<&str>) -> Vec<String> {
    let mut hints = Vec::new();
    if let Some(beside) = beside {
        hints.push(directory_hint(beside));
    }
    if !near.is_empty() {
        hints.push(format!("did you mean {}?", quoted(near)));
    }
    if hints.is_empty() {
        hints.push(format!(
            "`abx template search` shows what there is; an image is written `docker://{name}`, a directory `./{name}`"
        ));
    }
    hints
}

fn directory_hint(path: &str) -> String {
    format!("there is a directory of that name here: write `./{path}`")
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
