//! Files and folders between this machine and a sandbox.
//!
//! In: a client and two paths. Out: how much it was. Both ways follow the rule of `cp -r`: a destination that is
//! a folder, or ends with `/`, takes the source in under its own name; any other destination is the new name. A
//! source that ends with `/.` means what is in the folder. Memory stays constant whatever the size.
//!
//! **Architecture Invariant:** what a sandbox sends never decides where on this machine it lands.

use std::os::fd::OwnedFd;
use std::path::Path;

mod counted;
mod download;
mod error;
mod pack;
mod unpack;
mod upload;

pub(crate) use download::download;
pub(crate) use error::TransferError;
pub(crate) use upload::upload;

/// What a transfer came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Transferred {
    /// Where it is now.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// What was left out: devices, sockets, names that leave the folder.
    pub(crate) skipped: Vec<String>,
}

/// A pipe between work that waits and work that blocks; `path` is what it serves.
fn pipe(path: &Path) -> Result<(OwnedFd, OwnedFd), TransferError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| TransferError::local("transfer", path)(error.into()))
}

/// Waits for the blocking half.
async fn joined<T>(
    work: tokio::task::JoinHandle<Result<T, TransferError>>,
    path: &Path,
) -> Result<T, TransferError> {
    work.await.map_err(|error| TransferError::local("transfer", path)(std::io::Error::other(error)))?
}

fn is_broken_pipe(error: &TransferError) -> bool {
    matches!(error, TransferError::Local { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
}
