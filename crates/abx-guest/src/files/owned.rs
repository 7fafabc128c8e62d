//! Making files and directories that belong to a user.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Uid, chownat, fchown};
use rustix::process::getuid;

use crate::users::User;

/// Makes a directory and its missing parents; what is made belongs to `user`. An existing one is left as it is.
pub(crate) fn create_dirs(path: &Path, user: &User) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_dirs(parent, user)?;
    }
    match std::fs::DirBuilder::new().mode(0o755).create(path) {
        Ok(()) => give(path, user),
        // Another call was faster, or something else than a directory is in the way.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(io::ErrorKind::NotADirectory.into())
        }
        Err(error) => Err(error),
    }
}

/// Opens a file for writing from scratch, made where absent, with its parents. It belongs to `user` from then
/// on, and keeps its mode. Returns whether it is new.
pub(crate) fn create_file(path: &Path, user: &User) -> io::Result<(File, bool)> {
    if let Some(parent) = path.parent() {
        create_dirs(parent, user)?;
    }
    match path.metadata() {
        Ok(status) if status.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(status) if !status.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).mode(0o644);
    let (file, is_new) = match options.create_new(true).open(path) {
        Ok(file) => (file, true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            (options.create_new(false).create(true).truncate(true).open(path)?, false)
        }
        Err(error) => return Err(error),
    };
    let (uid, gid) = ids(user);
    fchown(&file, uid, gid)?;
    Ok((file, is_new))
}

/// Makes a file, directory or link belong to `user`.
pub(crate) fn give(path: &Path, user: &User) -> io::Result<()> {
    let (uid, gid) = ids(user);
    Ok(chownat(CWD, path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Where we are not root, everything we make is ours and stays so.
fn ids(user: &User) -> (Option<Uid>, Option<Gid>) {
    if !getuid().is_root() {
        return (Some(getuid()), None);
    }
    (Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)))
}
