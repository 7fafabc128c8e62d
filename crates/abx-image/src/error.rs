//! What can go wrong with images.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::{Code, Fault};

use crate::{LayerFault, PackFault};

/// A failed operation on an image, with its subject.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The store could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    Store {
        /// `read`, `write`, …
        verb: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// An id that is not a `sha256` in hex: it would not be safe as a file name.
    #[error("malformed id {id:?}: 64 hexadecimal digits are needed")]
    MalformedId { id: String },
    /// An image names a layer the store lacks.
    #[error("layer {id} is not in the store")]
    NoLayer { id: String },
    /// A layer's archive could not be unpacked.
    #[error("cannot unpack a layer{}", at(entry))]
    Layer {
        /// The member's path; empty where the archive as a whole is at fault.
        entry: String,
        source: LayerFault,
    },
    /// A layer could not be packed.
    #[error("cannot pack {}", path.display())]
    Pack { path: PathBuf, source: PackFault },
    /// A file that is no image archive, or a damaged one.
    #[error("{} holds no image that can be read: {reason}", path.display())]
    Archive { path: PathBuf, reason: String },
    /// An export could not be written.
    #[error("cannot write the export")]
    Export {
        #[source]
        source: io::Error,
    },
    /// A name that is none.
    #[error("malformed image name {name:?}: {reason}")]
    Name { name: String, reason: &'static str },
    /// The setting of a registry or mirror is no address.
    #[error("malformed address of a registry: {address:?}")]
    RegistryAddress { address: String },
    /// Nobody answers, or not in time.
    #[error("cannot reach {host}")]
    Unreachable {
        host: String,
        #[source]
        source: reqwest::Error,
    },
    /// An answer broke off, also when asked again.
    #[error("the transfer of {subject} from {host} broke off")]
    Transfer {
        subject: String,
        host: String,
        /// `None` where it simply ended too early.
        #[source]
        source: Option<reqwest::Error>,
    },
    /// The registry knows no such image.
    #[error("{host} has no {subject}")]
    NotFound { host: String, subject: String },
    /// It has the image, but not for this platform.
    #[error("{name} is not to be had for {platform}")]
    NoPlatform { name: String, platform: String, offered: Vec<String> },
    /// The registry refused the credentials it was given. `registry` is what to log in to, which for a mirror
    /// or Docker Hub is another name than the host that answers.
    #[error("{host} refuses the log-in")]
    Credentials { host: String, registry: String },
    /// There was no logging in.
    #[error("cannot log in to {host}: {reason}")]
    Login { host: String, registry: String, reason: &'static str },
    /// The file that keeps log-ins cannot be used. Its content is not quoted.
    #[error("cannot use {}: {reason}", path.display())]
    CredentialFile { path: PathBuf, reason: String },
    /// The program that keeps log-ins failed. Its output is not quoted.
    #[error("docker-credential-{helper} gave no log-in for {registry}: {reason}")]
    CredentialHelper { helper: String, registry: String, reason: &'static str },
    /// The other side does not keep to the protocol.
    #[error("{host} does not keep to the protocol: {reason}")]
    Protocol { host: String, reason: &'static str },
    /// An image could not be pushed.
    #[error("cannot push to {name}")]
    Push { name: String, source: Box<Self> },
    /// Too many requests.
    #[error("{host} takes no more requests for now")]
    RateLimit { host: String },
    /// The other side failed, also when asked again.
    #[error("{host} answers with status {status}{}", said(message))]
    Server {
        host: String,
        status: u16,
        /// What it says about it; may be empty.
        message: String,
    },
    /// A document of the registry that is none.
    #[error("the manifest of {subject} is malformed: {reason}")]
    Manifest { subject: String, reason: String },
    /// What came is not what was asked for.
    #[error("{subject} is not what it should be: expected {expected}, found {found}")]
    Digest { subject: String, expected: String, found: String },
    /// The work was cut short: its runtime is ending.
    #[error("interrupted")]
    Interrupted,
    /// The configured authorities could not be read.
    #[error("cannot use the certificate bundle {}: {reason}", path.display())]
    CertificateBundle { path: PathBuf, reason: String },
    /// A proxy setting is no address.
    #[error("malformed value of {variable}: not the address of a proxy")]
    Proxy { variable: String },
    /// The HTTP client could not be set up.
    #[error("cannot set up TLS")]
    Tls {
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl ImageError {
    /// Whether no registry answered at all, so that another source may be tried.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }

    /// Whether asking again may help: the other side failed, or the connection did.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Transfer { .. } => true,
            Self::Server { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// For `map_err`: `name` was the target. What is wrong on this machine stays what it is.
    pub(crate) fn push(name: &impl std::fmt::Display) -> impl FnOnce(Self) -> Self {
        let name = name.to_string();
        move |error| match error {
            Self::Store { .. } | Self::Pack { .. } | Self::NoLayer { .. } | Self::Interrupted => error,
            error => Self::Push { name, source: Box::new(error) },
        }
    }

    /// For `map_err`: writing an export failed.
    pub(crate) fn export(source: io::Error) -> Self {
        Self::Export { source }
    }

    /// For `map_err`: `verb` failed on `path` of the store.
    pub(crate) fn store(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Store { verb, path: path.to_owned(), source }
    }
}

fn at(entry: &str) -> String {
    match entry {
        "" => String::new(),
        entry => format!(" at {entry}"),
    }
}

fn said(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(": {message}"),
    }
}

impl Fault for ImageError {
    fn code(&self) -> Code {
        match self {
            Self::Store { source, .. } | Self::Export { source } => Code::of_file(source),
            Self::Layer { source: LayerFault::Make(source), .. } => Code::of_file(source),
            Self::Layer { .. } | Self::Archive { .. } => Code::ArchiveUnsafe,
            Self::Pack { source: PackFault::Read(source) | PackFault::Write(source), .. } => {
                Code::of_file(source)
            }
            Self::Pack { .. } => Code::File,
            Self::MalformedId { .. } | Self::NoLayer { .. } => Code::File,
            Self::Name { .. } | Self::RegistryAddress { .. } => Code::ReferenceInvalid,
            Self::Unreachable { .. } => Code::Unreachable,
            Self::RateLimit { .. } => Code::RateLimit,
            Self::Transfer { .. } | Self::Interrupted => Code::Network,
            Self::NotFound { .. } | Self::NoPlatform { .. } | Self::Manifest { .. } => Code::BaseImage,
            Self::Credentials { .. } => Code::RegistryCredentials,
            Self::Login { .. } | Self::CredentialFile { .. } | Self::CredentialHelper { .. } => {
                Code::RegistryLogin
            }
            Self::Push { source, .. } => match source.code() {
                code @ (Code::RegistryCredentials | Code::RegistryLogin | Code::ReferenceInvalid) => code,
                _ => Code::PushFailed,
            },
            Self::Protocol { .. } => Code::ServerFailed,
            Self::Server { .. } => Code::ServerFailed,
            Self::Digest { .. } => Code::DigestMismatch,
            Self::CertificateBundle { .. } | Self::Proxy { .. } | Self::Tls { .. } => Code::Network,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Store { source, .. } | Self::Layer { source: LayerFault::Make(source), .. }
                if !Code::of_file(source).home_hints().is_empty() =>
            {
                return Code::of_file(source).home_hints();
            }
            Self::Pack { source: PackFault::Shared { .. }, .. } => {
                "the layer was made by an overlay with redirect_dir or metacopy; build it again without"
            }
            Self::MalformedId { .. } | Self::NoLayer { .. } => "run `abx doctor --clean`, then build again",
            Self::Name { .. } => "a name looks like debian:bookworm-slim or host:5000/team/image:1.2",
            Self::RegistryAddress { .. } => "an address looks like https://mirror.example or host:5000",
            Self::Unreachable { .. } => {
                "check the network, or set a mirror of this registry in ~/.abx/config.toml"
            }
            Self::NotFound { .. } => "check the spelling of the image and its tag",
            Self::NoPlatform { offered, .. } if !offered.is_empty() => {
                return vec![format!("it is offered for {}", offered.join(", "))];
            }
            Self::Credentials { registry, .. } => {
                return vec![format!(
                    "log in as somebody who may: `docker login {registry}`, or `podman login {registry}`"
                )];
            }
            Self::Login { registry, .. } => {
                return vec![format!(
                    "check the image's name, and log in: `docker login {registry}`, or `podman login {registry}`"
                )];
            }
            Self::CredentialFile { .. } => "repair the file, or log in again with `docker login`",
            Self::CredentialHelper { helper, .. } => {
                return vec![format!(
                    "try `docker-credential-{helper} list`, or log in again with `docker login`"
                )];
            }
            Self::Push { source, .. } => return source.hints(),
            Self::RateLimit { .. } => "wait, log in, or set a mirror of this registry in ~/.abx/config.toml",
            Self::Transfer { .. } | Self::Server { .. } => "try again later",
            Self::Digest { .. } => "nothing of it was kept; a mirror or proxy in between may have changed it",
            Self::Archive { .. } => "copy the file again, or make it anew",
            Self::CertificateBundle { .. } => "the bundle is a file of PEM certificates",
            Self::Proxy { .. } => "a proxy looks like http://host:port",
            Self::Tls { .. } => "install the package ca-certificates, or name a bundle with SSL_CERT_FILE",
            Self::Store { .. }
            | Self::NoPlatform { .. }
            | Self::Layer { .. }
            | Self::Export { .. }
            | Self::Pack { .. }
            | Self::Manifest { .. }
            | Self::Protocol { .. }
            | Self::Interrupted => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}
