//! One error for the whole product: whichever stage failed answers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use abx_core::{Code, Fault, Snippet};

/// An operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error(transparent)]
    Source(#[from] abx_source::SourceError),
    #[error(transparent)]
    Image(#[from] abx_image::ImageError),
    #[error(transparent)]
    Debian(#[from] abx_debian::DebianError),
    #[error(transparent)]
    Build(#[from] abx_build::BuildError),
    #[error(transparent)]
    Dockerfile(#[from] abx_dockerfile::Invalid),
    #[error(transparent)]
    Engine(#[from] abx_engine::EngineError),
    #[error(transparent)]
    Client(#[from] abx_client::ClientError),
    #[error(transparent)]
    Command(#[from] crate::commands::CommandError),
    #[error(transparent)]
    Isolate(#[from] abx_isolate::IsolateError),
    #[error(transparent)]
    Vendored(#[from] abx_source::VendoredError),
    #[error(transparent)]
    Settings(#[from] crate::settings::SettingsError),
    #[error("the work was cut short")]
    Interrupted { source: std::io::Error },
    #[error("the home folder is not known")]
    NoHome,
    #[error("cannot tell where the working directory is")]
    WorkingDirectory { source: std::io::Error },
    #[error("cannot use {}", path.display())]
    State { path: PathBuf, source: std::io::Error },
    #[error("cannot use {}", path.display())]
    PackageFile { path: PathBuf, source: std::io::Error },
    #[error("the capability `{capability}` is not granted to a sandbox of {template}")]
    Capability { capability: &'static str, template: String, granted: Vec<String>, origin: Option<String> },
    #[error("--capabilities: unknown capability `{word}`")]
    UnknownCapability { word: String },
    #[error("{what} {value} is outside {low} to {high}")]
    OutOfBounds { what: String, value: String, low: String, high: String },
    #[error("host port {port} is asked for twice")]
    PortTwice { port: u16 },
    #[error("cannot read the image's layers")]
    LayerUnreadable { source: std::io::Error },
    #[error("there is no variable `{variable}` for the secret `{id}`")]
    NoSecret { id: String, variable: String },
    #[error("cannot read the secret `{id}` from {}", path.display())]
    SecretFile { id: String, path: PathBuf, source: std::io::Error },
    #[error("the secret `{id}` is larger than {limit} bytes")]
    SecretTooLarge { id: String, limit: u64 },
    #[error("a build here makes images for {host}, not for `{wanted}`")]
    Platform { wanted: String, host: String },
    #[error("{template} does not come to the same image twice")]
    NotReproducible { template: String, differences: Vec<String> },
    #[error("`{}` is there already, and not empty", path.display())]
    Occupied { path: PathBuf },
    #[error("nothing that is kept is called `{name}`")]
    NotCached { name: String },
    #[error("no local template `{name}:{tag}`")]
    NoLocalTemplate { name: String, tag: String },
    #[error("there are no tests in `{reference}`")]
    NoTests { reference: String },
    #[error("no test of `{reference}` is called `{filter}`")]
    NoTestCalled { reference: String, filter: String },
    #[error("cannot push to `{text}`: {reason}")]
    Destination { text: String, reason: &'static str },
    #[error("where to push `{name}` is not said")]
    NoDestination { name: String },
    #[error("there is no pool of `{reference}`")]
    NoPool { reference: String },
    #[error("the keeper of the pool of `{reference}` does not answer")]
    KeeperSilent { reference: String },
    #[error("the keeper of the pool has ended")]
    KeeperDied { log: Vec<String> },
    #[error("the image of the sandbox is gone: {image}")]
    ImageGone { image: String },
    #[error("what is kept of the template of sandbox {sandbox} is damaged")]
    TemplateDamaged { sandbox: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the image `{image}` is not in the store, and --offline keeps to this machine")]
    Offline { image: String },
    #[error("base image `{image}` is not to be had: {reason}")]
    BaseImage { image: String, reason: String, hints: Vec<String> },
}

impl From<abx_source::LockError> for Error {
    fn from(error: abx_source::LockError) -> Self {
        Self::Source(error.into())
    }
}

impl Error {
    pub(crate) fn working_directory(source: std::io::Error) -> Self {
        Self::WorkingDirectory { source }
    }

    pub(crate) fn state(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::State { path, source }
    }

    /// A file of a package that cannot be read or written.
    pub(crate) fn package_file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::PackageFile { path, source }
    }

    /// The error of the stage that failed, else itself.
    pub(crate) fn stage(&self) -> &(dyn std::error::Error + 'static) {
        match self.inner() {
            Some(inner) => inner,
            None => self,
        }
    }

    /// The stage's own error, where one failed.
    fn inner(&self) -> Option<&dyn Fault> {
        match self {
            Self::Source(error) => Some(error),
            Self::Image(error) => Some(error),
            Self::Debian(error) => Some(error),
            Self::Build(error) => Some(error),
            Self::Dockerfile(error) => Some(error),
            Self::Engine(error) => Some(error),
            Self::Client(error) => Some(error),
            Self::Command(error) => Some(error),
            Self::Isolate(error) => Some(error),
            Self::Vendored(error) => Some(error),
            Self::Settings(error) => Some(error),
            _ => None,
        }
    }
}

fn state_code(error: &std::io::Error) -> Code {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::FileSize,
        _ => Code::CreateFailed,
    }
}

fn file_code(error: &std::io::Error) -> Code {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Code::FileNotFound,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Code::FileSize,
        _ => Code::File,
    }
}

impl Fault for Error {
    fn code(&self) -> Code {
        match self {
            Self::Capability { .. } => Code::Capability,
            Self::UnknownCapability { .. } | Self::OutOfBounds { .. } | Self::PortTwice { .. } => {
                Code::SpecInvalid
            }
            Self::NoLocalTemplate { .. } | Self::NotCached { .. } | Self::NoPool { .. } => {
                Code::TemplateNotFound
            }
            Self::Destination { .. } | Self::NoDestination { .. } => Code::ReferenceInvalid,
            Self::State { source, .. } => state_code(source),
            Self::PackageFile { source, .. } | Self::SecretFile { source, .. } => file_code(source),
            Self::NoSecret { .. } | Self::NoTests { .. } | Self::NoTestCalled { .. } => Code::FileNotFound,
            Self::Occupied { .. } => Code::File,
            Self::NotReproducible { .. } => Code::BuildStep,
            Self::SecretTooLarge { .. } => Code::FileSize,
            Self::Platform { .. } => Code::HostLacks,
            Self::Offline { .. } => Code::Offline,
            Self::BaseImage { .. } => Code::BaseImage,
            _ => self.inner().map_or(Code::CreateFailed, Fault::code),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Capability { capability, granted, origin, .. } => {
                let at = origin.as_ref().map(|origin| format!(" at {origin}")).unwrap_or_default();
                let now = if granted.is_empty() { "nothing".to_owned() } else { granted.join(", ") };
                vec![format!(
                    "`capabilities`{at} grants {now}; add `{capability}` there and create another sandbox"
                )]
            }
            Self::UnknownCapability { .. } => {
                let known = abx_spec::limits::CAPABILITIES.join(", ");
                vec![format!("there are {known}; words of your own begin with `x-`")]
            }
            Self::NoHome => vec!["set HOME, or ABX_HOME to the folder for abx's state".into()],
            Self::NoLocalTemplate { .. } => {
                vec!["`abx template list` shows what there is; `abx template build` makes one".into()]
            }
            Self::Destination { .. } => {
                vec!["a destination is written `acr://host/team/app`, with or without a tag".into()]
            }
            Self::NoDestination { name } => vec![
                format!("write `abx template push {name} acr://HOST/TEAM/APP`"),
                "or say once where templates go: `abx config set push_to HOST/TEAM`".into(),
            ],
            Self::NotReproducible { .. } => {
                vec!["fix versions, and let steps write neither times nor anything of chance".into()]
            }
            Self::Occupied { .. } => vec!["give another name; nothing is written over".into()],
            Self::NoSecret { id, .. } => {
                vec![format!("set it, or write `--secret id={id},src=FILE`")]
            }
            Self::Platform { host, .. } => {
                vec![format!("leave --platform out, or build on such a host; {host} is this one")]
            }
            Self::NoPool { .. } => vec!["`abx pool` shows what there is".into()],
            Self::NotCached { .. } => vec!["`abx template cache list` shows what there is".into()],
            Self::NoTests { .. } => {
                vec!["write them to tests/*.yaml: `tests: [{name: it greets, run: ./hello}]`".into()]
            }
            Self::NoTestCalled { .. } => vec!["a filter is a part of a test's name or file".into()],
            Self::Offline { .. } => vec!["run once without --offline".into()],
            Self::BaseImage { hints, .. } => hints.clone(),
            Self::OutOfBounds { .. } => vec!["the bounds are settings: `abx config list`".into()],
            Self::PackageFile { source, .. } if source.kind() == ErrorKind::AlreadyExists => {
                vec!["move it away; what it holds can be put together with the new one afterwards".into()]
            }
            Self::State { source, .. } => match state_code(source) {
                Code::FileSize => vec!["free some space, or set ABX_HOME to a larger disk".into()],
                _ => vec!["set ABX_HOME to a folder you may write".into()],
            },
            _ => self.inner().map(Fault::hints).unwrap_or_default(),
        }
    }

    fn snippets(&self) -> Vec<Snippet> {
        self.inner().map(Fault::snippets).unwrap_or_default()
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::NotReproducible { differences, .. } => differences.clone(),
            Self::KeeperDied { log } => log.clone(),
            _ => self.inner().map(Fault::details).unwrap_or_default(),
        }
    }

    fn others(&self) -> Vec<&dyn Fault> {
        self.inner().map(Fault::others).unwrap_or_default()
    }
}
