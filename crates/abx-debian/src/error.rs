//! What can go wrong between a release's name and its root file system.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::{Code, Fault};
use abx_image::ImageError;
use abx_isolate::IsolateError;

use crate::digest::Checksum;
use crate::keyring::{KeyringError, SignatureError};
use crate::release_file::ReleaseFault;

/// A bootstrap that failed, with its subject. Addresses are shown without credentials.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DebianError {
    /// No connection to the mirror, or it fell silent.
    #[error("cannot reach {url}")]
    Unreachable {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    /// The transfer broke off.
    #[error("the transfer of {url} broke off")]
    Interrupted {
        url: String,
        #[source]
        source: reqwest::Error,
    },
    /// The mirror answered with a failure.
    #[error("{url} was answered with status {status}")]
    Refused { url: String, status: u16 },
    /// Not text, or larger than any file of its kind.
    #[error("{url} is no {kind}")]
    NotA { url: String, kind: &'static str },
    /// The signature of a release file does not hold.
    #[error("the mirror {mirror} serves a release file of {suite} that cannot be trusted")]
    Signature {
        mirror: String,
        suite: String,
        #[source]
        source: SignatureError,
    },
    /// A release file that is genuine but not the one wanted.
    #[error("the mirror {mirror} serves a release file that cannot stand for {suite}")]
    ReleaseFile {
        mirror: String,
        suite: String,
        #[source]
        source: ReleaseFault,
    },
    /// The suite has no packages for this machine.
    #[error("{suite} at {mirror} lists no packages for {architecture}")]
    NoIndex { mirror: String, suite: String, architecture: &'static str },
    /// What came is not what was signed.
    #[error("{subject} from {url} is not what the archive signed: {found} instead of {wanted}")]
    Digest { subject: String, url: String, wanted: Checksum, found: Checksum },
    /// The indexes lack a package of the base system.
    #[error("the archive has no package {package}{}", needed_by.as_ref().map(|by| format!(", which {by} depends on")).unwrap_or_default())]
    NoPackage { package: String, needed_by: Option<String> },
    /// A package that cannot be unpacked.
    #[error("the package {package} is damaged or unsafe: {reason}")]
    Package { package: String, reason: String },
    /// A file of a package could not be written.
    #[error("cannot unpack {path:?} of {package}")]
    Unpack {
        package: String,
        path: String,
        #[source]
        source: io::Error,
    },
    /// The packages' own scripts failed.
    #[error("the packages of {release} could not be configured: {}", outcome(*.status))]
    Configure { release: String, status: Option<i32>, log: Vec<String> },
    /// Nothing of the release is on this machine, and the network is off limits.
    #[error("debian {release} is not in the cache, and offline was asked for")]
    Offline { release: String },
    /// Debian does not build for this machine.
    #[error("debian is not built for {architecture}")]
    Architecture { architecture: &'static str },
    /// A file of the cache or of the new root.
    #[error("cannot {verb} {}", path.display())]
    File {
        verb: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A keyring of the settings.
    #[error(transparent)]
    Keyring(#[from] KeyringError),
    /// The image store.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The namespace the packages are configured in.
    #[error(transparent)]
    Isolate(#[from] IsolateError),
}

impl DebianError {
    /// For `map_err`: `verb` failed on `path`.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { verb, path: path.to_owned(), source }
    }

    /// Whether only the way to the mirror failed, so that what is here already may serve.
    pub(crate) fn is_network(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Interrupted { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            _ => false,
        }
    }
}

fn outcome(status: Option<i32>) -> String {
    match status {
        Some(status) => format!("dpkg ended with status {status}"),
        None => "dpkg was killed".to_owned(),
    }
}

fn file_code(error: &io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Code::FileSize
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
        io::ErrorKind::NotFound => Code::FileNotFound,
        _ => Code::File,
    }
}

const OTHER_MIRROR: &str = "use another mirror: `abx config set debian_mirror http://HOST/debian` (the host's own apt configuration comes first)";

impl Fault for DebianError {
    fn code(&self) -> Code {
        match self {
            Self::Unreachable { .. } => Code::Unreachable,
            Self::Interrupted { .. } => Code::Network,
            Self::Refused { status, .. } if *status >= 500 => Code::ServerFailed,
            Self::Refused { .. }
            | Self::NotA { .. }
            | Self::Signature { .. }
            | Self::ReleaseFile { .. }
            | Self::NoIndex { .. }
            | Self::NoPackage { .. }
            | Self::Configure { .. }
            | Self::Architecture { .. }
            | Self::Keyring(_) => Code::BaseImage,
            Self::Digest { .. } => Code::DigestMismatch,
            Self::Package { .. } => Code::ArchiveUnsafe,
            Self::Offline { .. } => Code::Offline,
            Self::Unpack { source, .. } | Self::File { source, .. } => file_code(source),
            Self::Image(error) => error.code(),
            Self::Isolate(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        let hints: &[&str] = match self {
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Refused { .. }
            | Self::NotA { .. } => &["check the network and its proxy settings", OTHER_MIRROR],
            Self::Signature { .. } => {
                &["the mirror, or something on the way to it, changes what Debian published", OTHER_MIRROR]
            }
            Self::ReleaseFile { source: ReleaseFault::Future(_) | ReleaseFault::Expired(_), .. } => {
                &["the mirror is out of date, or the clock of this machine is wrong", OTHER_MIRROR]
            }
            Self::ReleaseFile { .. } | Self::NoIndex { .. } | Self::NoPackage { .. } => &[OTHER_MIRROR],
            Self::Digest { .. } => &["try again: the mirror may be in the middle of an update", OTHER_MIRROR],
            Self::Package { .. } => &["nothing of it was kept; try again"],
            Self::Offline { .. } => &["run the same once without `--offline`"],
            Self::Architecture { .. } => &["name an image of a registry instead"],
            Self::Unpack { source, .. } | Self::File { source, .. }
                if file_code(source) == Code::FileSize =>
            {
                &["free some space, or move the store with ABX_HOME"]
            }
            Self::Image(error) => return error.hints(),
            Self::Isolate(error) => return error.hints(),
            Self::Configure { .. } | Self::Unpack { .. } | Self::File { .. } | Self::Keyring(_) => &[],
        };
        hints.iter().map(|hint| (*hint).to_owned()).collect()
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::Configure { log, .. } => log.clone(),
            Self::Isolate(error) => error.details(),
            _ => Vec::new(),
        }
    }
}
