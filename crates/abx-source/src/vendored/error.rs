//! What can go wrong with a vendored file.

use std::io;
use std::path::PathBuf;

use abx_core::{Code, Fault};
use abx_image::ImageError;
use abx_spec::Invalid;

/// Why a vendored file is not read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VendoredError {
    #[error("it is of format {format}, made by {made_by}, and this version reads format {known}")]
    Newer { format: u32, known: u32, made_by: String },
    #[error("it is damaged: {reason}")]
    Damaged { reason: String },
    /// A template in it means nothing.
    #[error("the template `{name}` in it is invalid: {fault}")]
    Template {
        name: String,
        #[source]
        fault: Box<Invalid>,
    },
    #[error("cannot {verb} {}", path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Image(#[from] ImageError),
}

impl VendoredError {
    pub(super) fn io(verb: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }

    pub(super) fn damaged(reason: impl std::fmt::Display) -> Self {
        Self::Damaged { reason: reason.to_string() }
    }
}

impl Fault for VendoredError {
    fn code(&self) -> Code {
        match self {
            Self::Newer { .. } | Self::Template { .. } => Code::SpecInvalid,
            Self::Damaged { .. } => Code::ArchiveUnsafe,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::FileSize,
                io::ErrorKind::PermissionDenied => Code::FilePermission,
                io::ErrorKind::NotFound => Code::FileNotFound,
                _ => Code::File,
            },
            Self::Image(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Newer { made_by, .. } => vec![format!("use {made_by} or newer")],
            Self::Damaged { .. } | Self::Image(ImageError::Digest { .. } | ImageError::Archive { .. }) => {
                vec!["copy the file again, or make it with `abx template vendor`".into()]
            }
            Self::Template { fault, .. } => fault.hints(),
            Self::Io { .. } => Vec::new(),
            Self::Image(error) => error.hints(),
        }
    }
}
