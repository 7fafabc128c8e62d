//! Paths inside the root, resolved without ever leaving it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Uid, chownat, openat2, readlinkat};
use rustix::io::{Errno, Result};

use crate::launch::Ids;

/// The root under construction. Links in it are taken as a process inside would take them, `..` stops at it.
#[derive(Clone, Copy)]
pub(crate) struct Inside<'a> {
    root: BorrowedFd<'a>,
    ids: Ids,
}

/// How many links one path may go through, as in the kernel.
const MAX_LINKS: usize = 40;

impl<'a> Inside<'a> {
    pub(crate) fn new(root: BorrowedFd<'a>, ids: Ids) -> Self {
        Self { root, ids }
    }

    /// What is at `path`, links followed.
    pub(crate) fn find(&self, path: &Path) -> Result<OwnedFd> {
        self.open(path, OFlags::PATH, Mode::empty())
    }

    /// The directory at `path`, made (with its parents) where there is nothing.
    pub(crate) fn directory(&self, path: &Path) -> Result<OwnedFd> {
        match self.find(path) {
            Err(Errno::NOENT) => self.make(path, |parent, name| {
                rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755))?;
                give(self.ids, parent, name)
            }),
            found => found,
        }
    }

    /// What is at `path`; where there is nothing, an empty file is made there, with parents.
    pub(crate) fn file(&self, path: &Path, mode: u32) -> Result<OwnedFd> {
        match self.find(path) {
            Err(Errno::NOENT) => self.make(path, |parent, name| {
                let flags =
                    OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(mode))?;
                give(self.ids, parent, name)
            }),
            found => found,
        }
    }

    /// Opens for use (not only as a place).
    pub(crate) fn open(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        rustix::io::retry_on_intr(|| openat2(self.root, path, flags | OFlags::CLOEXEC, mode, resolve))
    }

    /// Makes the last component of `path` by `maker`, after its parents; a dangling link is followed to
    /// where it points.
    fn make(&self, path: &Path, maker: impl Fn(BorrowedFd<'_>, &OsStr) -> Result<()>) -> Result<OwnedFd> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(Errno::INVAL);
            };
            let parent_directory = self.directory(parent)?;
            match maker(parent_directory.as_fd(), name) {
                Ok(()) => return self.find(&path),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            // Something is there, yet nothing was found: a link to nowhere.
            match readlinkat(&parent_directory, name, Vec::new()) {
                Ok(target) => path = joined(parent, Path::new(OsStr::from_bytes(target.as_bytes()))),
                // It has come into being meanwhile.
                Err(_) => return self.find(&path),
            }
        }
        Err(Errno::LOOP)
    }
}

/// Gives `name` to root inside.
pub(crate) fn give(ids: Ids, parent: BorrowedFd<'_>, name: &OsStr) -> Result<()> {
    if ids.root() == 0 {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(ids.root()), Gid::from_raw(ids.root()));
    chownat(parent, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
}

/// A link's target seen from the directory the link is in.
fn joined(directory: &Path, target: &Path) -> PathBuf {
    let mut path = PathBuf::from("/");
    for component in directory.join(target).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}
