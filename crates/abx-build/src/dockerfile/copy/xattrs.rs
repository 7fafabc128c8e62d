//! Extended attributes that belong to a file, and not to the stack of layers it lies in.

use std::ffi::CString;
use std::io;
use std::path::Path;

use rustix::fs::{XattrFlags, lgetxattr, llistxattr, lsetxattr};
use rustix::io::Errno;

/// Whether an attribute is copied along.
fn is_kept(name: &str) -> bool {
    matches!(name, "security.capability" | "system.posix_acl_access" | "system.posix_acl_default")
        || (name.starts_with("user.") && !name.starts_with("user.overlay."))
}

/// The attributes of a file, in the order of their names.
pub(super) fn read(path: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut list = [0_u8; 4096];
    let length = match llistxattr(path, &mut list) {
        // The file system has none.
        Err(Errno::OPNOTSUPP) => 0,
        length => length?,
    };
    let names = list[..length].split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    let mut found = Vec::new();
    for name in names.filter(|name| is_kept(name)) {
        let mut value = vec![0_u8; 64 * 1024];
        let length = lgetxattr(path, CString::new(name)?.as_c_str(), &mut value)?;
        value.truncate(length);
        found.push((name.to_owned(), value));
    }
    found.sort();
    Ok(found)
}

/// Sets attributes on a file of a layer.
pub(super) fn write(path: &Path, xattrs: &[(String, Vec<u8>)]) -> io::Result<()> {
    for (name, value) in xattrs {
        match lsetxattr(path, name.as_str(), value, XattrFlags::empty()) {
            // Not on this kind of file, or this file system.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::PERM) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}
