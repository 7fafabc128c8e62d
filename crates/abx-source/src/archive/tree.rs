//! The directory being filled: every change to it, looked up below its root and never through a link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fchmod, linkat, mkdirat, openat, openat2, statat,
    symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::ArchiveFault;

/// So much of a file's start is looked at for what it may be.
const START: usize = 64 << 10;

/// A directory, open.
pub(super) struct Tree {
    root: OwnedFd,
    /// The last parent looked up: members come sorted by directory.
    recent: Option<(String, OwnedFd)>,
}

impl Tree {
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveFault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty()).map_err(fault(&path.display().to_string()))?;
        Ok(Self { root, recent: None })
    }

    pub(super) fn directory(&mut self, name: &str) -> Result<(), ArchiveFault> {
        self.parent(name).map(drop)?;
        self.make_directory(name)
    }

    /// Makes a file of `size` bytes, and returns its start.
    pub(super) fn file(
        &mut self,
        name: &str,
        executable: bool,
        size: u64,
        data: &mut impl Read,
    ) -> Result<Vec<u8>, ArchiveFault> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (parent, last) = self.parent(name)?;
        let file = match openat(parent, last, flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::EXIST) => {
                self.clear(name)?;
                let (parent, last) = self.parent(name)?;
                openat(parent, last, flags, Mode::RUSR | Mode::WUSR)
            }
            file => file,
        };
        let file = file.map_err(fault(name))?;
        // Not left to the umask.
        fchmod(&file, Mode::from_raw_mode(if executable { 0o755 } else { 0o644 })).map_err(fault(name))?;
        copy(name, size, data, &mut File::from(file))
    }

    pub(super) fn symlink(&mut self, name: &str, target: &str) -> Result<(), ArchiveFault> {
        self.clear(name)?;
        let (parent, last) = self.parent(name)?;
        symlinkat(target, parent, last).map_err(fault(name))
    }

    /// `target` must be a file.
    pub(super) fn hard_link(&mut self, name: &str, target: &str) -> Result<(), ArchiveFault> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let source = openat2(&self.root, target, flags, Mode::empty(), BENEATH);
        let out = |_| ArchiveFault::HardLink { name: name.to_owned() };
        let source = source.map_err(out)?;
        let stat = rustix::fs::fstat(&source).map_err(fault(name))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(ArchiveFault::HardLink { name: name.to_owned() });
        }
        if name == target {
            return Ok(());
        }
        self.clear(name)?;
        let (parent, last) = self.parent(name)?;
        let source = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&source));
        linkat(CWD, source, parent, last, AtFlags::SYMLINK_FOLLOW).map_err(fault(name))
    }

    /// Whether a link leads out, other links on its way included.
    pub(super) fn link_leaves(&self, name: &str) -> Result<bool, ArchiveFault> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match openat2(&self.root, name, flags, Mode::empty(), ResolveFlags::BENEATH) {
            Err(Errno::XDEV) => Ok(true),
            Ok(_) | Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(fault(name)(error)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Result<(), ArchiveFault> {
        let (parent, last) = self.parent(name)?;
        unlinkat(parent, last, AtFlags::empty()).map_err(fault(name))
    }

    /// Makes room for a later member of the same name, unless that is a folder.
    fn clear(&mut self, name: &str) -> Result<(), ArchiveFault> {
        let (parent, last) = self.parent(name)?;
        match statat(parent, last, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                Err(ArchiveFault::Clash { name: name.to_owned() })
            }
            Ok(_) => unlinkat(parent, last, AtFlags::empty()).map_err(fault(name)),
            Err(error) => Err(fault(name)(error)),
        }
    }

    /// The open parent of `name`, which is made where absent, and its last component.
    fn parent<'n>(&mut self, name: &'n str) -> Result<(BorrowedFd<'_>, &'n str), ArchiveFault> {
        let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
        if self.recent.as_ref().is_none_or(|(recent, _)| recent != parent) {
            let directory = match self.look_up(parent) {
                Err(ArchiveFault::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    self.make_all(parent)?;
                    self.look_up(parent)?
                }
                found => found?,
            };
            self.recent = Some((parent.to_owned(), directory));
        }
        let directory = self.recent.as_ref().map_or(self.root.as_fd(), |(_, directory)| directory.as_fd());
        Ok((directory, last))
    }

    fn look_up(&self, path: &str) -> Result<OwnedFd, ArchiveFault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let found =
            openat2(&self.root, if path.is_empty() { "." } else { path }, flags, Mode::empty(), BENEATH);
        match found {
            Err(Errno::LOOP) => Err(ArchiveFault::ThroughLink),
            Err(Errno::NOTDIR) => Err(ArchiveFault::Clash { name: path.to_owned() }),
            found => found.map_err(fault(path)),
        }
    }

    fn make_all(&self, path: &str) -> Result<(), ArchiveFault> {
        for (slash, _) in path.match_indices('/') {
            self.make_directory(&path[..slash])?;
        }
        self.make_directory(path)
    }

    /// Makes one directory, or finds it.
    fn make_directory(&self, name: &str) -> Result<(), ArchiveFault> {
        let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
        let parent = self.look_up(parent)?;
        match mkdirat(&parent, last, Mode::RWXU) {
            Ok(()) => {
                let mode = Mode::from_raw_mode(0o755);
                rustix::fs::chmodat(&parent, last, mode, AtFlags::empty()).map_err(fault(name))
            }
            // A link to a directory is none: later members would go through it.
            Err(Errno::EXIST) => self.look_up(name).map(drop),
            Err(error) => Err(fault(name)(error)),
        }
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

fn fault(name: &str) -> impl FnOnce(Errno) -> ArchiveFault {
    let name = name.to_owned();
    move |error| match error {
        Errno::NAMETOOLONG => ArchiveFault::Cap { what: "bytes in a path", cap: 4096 },
        error => ArchiveFault::Io { name, source: error.into() },
    }
}

/// Copies a member, keeping apart what reading and what writing had to say.
fn copy(name: &str, size: u64, data: &mut impl Read, file: &mut File) -> Result<Vec<u8>, ArchiveFault> {
    let mut start = Vec::new();
    let mut buffer = vec![0; START.min(usize::try_from(size).unwrap_or(START)).max(1)];
    let mut left = size;
    while left > 0 {
        let count = match data.read(&mut buffer) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        if start.is_empty() {
            start.extend_from_slice(&buffer[..count]);
        }
        let written = file.write_all(&buffer[..count]);
        written.map_err(|source| ArchiveFault::Io { name: name.to_owned(), source })?;
        left = left.saturating_sub(count as u64);
    }
    Ok(start)
}
