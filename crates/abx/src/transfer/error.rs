use std::io;
use std::path::PathBuf;

use abx_client::ClientError;
use abx_core::{Code, Fault};

/// A failed transfer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot {verb} {}", path.display())]
    Local { verb: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is neither a file nor a folder", path.display())]
    Special { path: PathBuf },
    #[error("the sandbox's archive of {path} is damaged")]
    Damaged { path: String, source: io::Error },
}

impl TransferError {
    /// Wraps a failed operation on a file of this machine.
    pub(super) fn local(verb: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Local { verb, path, source }
    }
}

impl Fault for TransferError {
    fn code(&self) -> Code {
        match self {
            Self::Client(ClientError::Local { source, .. }) | Self::Local { source, .. } => {
                of_kind(source.kind())
            }
            Self::Client(error) => error.code(),
            Self::Special { .. } => Code::File,
            Self::Damaged { .. } => Code::ArchiveUnsafe,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Client(error) => error.hints(),
            _ => Vec::new(),
        }
    }
}

fn of_kind(kind: io::ErrorKind) -> Code {
    match kind {
        io::ErrorKind::NotFound => Code::FileNotFound,
        io::ErrorKind::PermissionDenied => Code::FilePermission,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Code::FileSize
        }
        _ => Code::File,
    }
}
