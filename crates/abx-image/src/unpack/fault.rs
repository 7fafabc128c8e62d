//! Why a layer cannot be unpacked.

use std::io;

use crate::tarball::TarFault;

/// What is wrong with a member of a layer, or what its making ran into.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerFault {
    #[error("the archive is damaged")]
    Tar(#[source] TarFault),
    #[error("its path is empty, or has `..` or a zero byte in it")]
    Path,
    #[error("its parent is not a directory")]
    Parent,
    #[error("the target of its hard link is not in the layer")]
    LinkTarget,
    #[error("it cannot be made")]
    Make(#[source] io::Error),
}

impl LayerFault {
    /// For `map_err` on a system call.
    pub(super) fn make(errno: rustix::io::Errno) -> Self {
        Self::Make(errno.into())
    }
}
