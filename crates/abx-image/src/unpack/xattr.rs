//! Extended attributes worth keeping.

use std::path::{Path, PathBuf};

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{XattrFlags, lsetxattr};
use rustix::io::Errno;

use super::LayerFault;
use crate::tarball::Xattr;

/// Whether an attribute may come from an archive. Those of overlayfs would change what the layers below
/// show; labels of security modules belong to the host that wrote them.
pub(crate) fn wanted(name: &str) -> bool {
    match name {
        "security.capability" | "system.posix_acl_access" | "system.posix_acl_default" => true,
        name => name.starts_with("user.") && !name.starts_with("user.overlay."),
    }
}

/// Sets the wanted ones on the file at `path`, which is not followed where it is a link. Answers whether the
/// file system took all of them.
pub(super) fn set(path: &Path, xattrs: &[Xattr]) -> Result<bool, LayerFault> {
    let mut all = true;
    for xattr in xattrs.iter().filter(|xattr| wanted(&xattr.name)) {
        match lsetxattr(path, xattr.name.as_str(), &xattr.value, XattrFlags::empty()) {
            Ok(()) => {}
            // Not on this file system, or (`user.` on a link) on no file system.
            Err(Errno::OPNOTSUPP | Errno::PERM) => all = false,
            Err(error) => return Err(LayerFault::make(error)),
        }
    }
    Ok(all)
}

/// A path to a name in an open directory, for calls that take paths only. The directory is looked up by its
/// descriptor, so links above it play no part.
pub(super) fn path_at(parent: BorrowedFd<'_>, name: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let directory = format!("/proc/self/fd/{}", parent.as_raw_fd());
    Path::new(&directory).join(std::ffi::OsStr::from_bytes(name))
}
