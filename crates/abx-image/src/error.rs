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
    #[error("cannot unpack a layer{}: {source}", at(entry))]
    Layer {
        /// The member's path; empty where the archive as a whole is at fault.
        entry: String,
        source: LayerFault,
    },
    /// A layer could not be packed.
    #[error("cannot pack {}: {source}", path.display())]
    Pack { path: PathBuf, source: PackFault },
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

/// The code of a failed file operation.
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

impl Fault for ImageError {
    fn code(&self) -> Code {
        match self {
            Self::Store { source, .. } => file_code(source),
            Self::Layer { source: LayerFault::Make(source), .. } => file_code(source),
            Self::Layer { .. } => Code::ArchiveUnsafe,
            Self::Pack { source: PackFault::Read(source) | PackFault::Write(source), .. } => {
                file_code(source)
            }
            Self::Pack { .. } => Code::File,
            Self::MalformedId { .. } | Self::NoLayer { .. } => Code::File,
            Self::CertificateBundle { .. } | Self::Proxy { .. } | Self::Tls { .. } => Code::Network,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Store { source, .. } | Self::Layer { source: LayerFault::Make(source), .. }
                if file_code(source) == Code::FileSize =>
            {
                "free some space, or move the store with ABX_HOME"
            }
            Self::Pack { source: PackFault::Shared { .. }, .. } => {
                "the layer was made by an overlay with redirect_dir or metacopy; build it again without"
            }
            Self::Store { .. } | Self::Layer { .. } | Self::Pack { .. } => return Vec::new(),
            Self::MalformedId { .. } | Self::NoLayer { .. } => "run `abx doctor --clean`, then build again",
            Self::CertificateBundle { .. } => "the bundle is a file of PEM certificates",
            Self::Proxy { .. } => "a proxy looks like http://host:port",
            Self::Tls { .. } => "install the package ca-certificates, or name a bundle with SSL_CERT_FILE",
        };
        vec![hint.to_owned()]
    }
}
