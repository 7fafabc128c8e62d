//! The directory being filled: every change to it, looked up below its root and never through a link.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, chmodat, fchmod, linkat, mkdirat, openat, openat2,
    readlinkat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::ArchiveFault;

/// Written at a time.
const CHUNK: usize = 128 << 10;

/// A directory, open.
pub(super) struct Tree {
    root: OwnedFd,
    /// The last parent looked up: members come sorted by directory.
    recent: Option<(String, OwnedFd)>,
    /// Directories that no member asked for.
    implied: u64,
    buffer: Vec<u8>,
}

impl Tree {
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveFault> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty()).map_err(fault(&path.display().to_string()))?;
        Ok(Self { root, recent: None, implied: 0, buffer: vec![0; CHUNK] })
    }

    /// How many directories were made for the sake of what is in them.
    pub(super) fn implied(&self) -> u64 {
        self.implied
    }

    pub(super) fn directory(&mut self, name: &str) -> Result<(), ArchiveFault> {
        let (parent, last) = self.parent(name)?;
        match make_directory(parent, last, name)? {
            true => Ok(()),
            // A link to a directory is none: later members would go through it.
            false => open_directory(parent, last, name).map(drop),
        }
    }

    /// Makes a file of `size` bytes. Returns its content where that is short, else nothing.
    pub(super) fn file(
        &mut self,
        name: &str,
        executable: bool,
        size: u64,
        data: &mut impl Read,
    ) -> Result<&[u8], ArchiveFault> {
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
        copy(name, size, data, &mut File::from(file), &mut self.buffer)?;
        Ok(usize::try_from(size).ok().and_then(|size| self.buffer.get(..size)).unwrap_or_default())
    }

    pub(super) fn symlink(&mut self, name: &str, target: &[u8]) -> Result<(), ArchiveFault> {
        self.clear(name)?;
        let (parent, last) = self.parent(name)?;
        symlinkat(target, parent, last).map_err(fault(name))
    }

    /// Where a link leads by its text; `None` where there is something else, or nothing.
    pub(super) fn read_link(&mut self, name: &str) -> Result<Option<Vec<u8>>, ArchiveFault> {
        let (parent, last) = self.parent(name)?;
        match readlinkat(parent, last, Vec::new()) {
            Ok(target) => Ok(Some(target.into_bytes())),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(error) => Err(fault(name)(error)),
        }
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
        let Some((parent, last)) = name.rsplit_once('/') else { return Ok((self.root.as_fd(), name)) };
        if self.recent.as_ref().is_none_or(|(recent, _)| recent != parent) {
            let directory = match open_directory(self.root.as_fd(), parent, parent) {
                Err(ArchiveFault::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    self.make_all(parent)?
                }
                found => found?,
            };
            self.recent = Some((parent.to_owned(), directory));
        }
        let directory = self.recent.as_ref().map_or(self.root.as_fd(), |(_, directory)| directory.as_fd());
        Ok((directory, last))
    }

    /// Step by step, so that a deep path is not looked up from the root as often as it is deep.
    fn make_all(&mut self, path: &str) -> Result<OwnedFd, ArchiveFault> {
        let mut directory = open_directory(self.root.as_fd(), ".", path)?;
        for component in path.split('/') {
            self.implied += u64::from(make_directory(directory.as_fd(), component, path)?);
            directory = open_directory(directory.as_fd(), component, path)?;
        }
        Ok(directory)
    }
}

/// Makes one directory; false where there is something of that name. `path` is for messages.
fn make_directory(parent: BorrowedFd<'_>, name: &str, path: &str) -> Result<bool, ArchiveFault> {
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => {
            let mode = Mode::from_raw_mode(0o755);
            chmodat(parent, name, mode, AtFlags::empty()).map_err(fault(path))?;
            Ok(true)
        }
        Err(Errno::EXIST) => Ok(false),
        Err(error) => Err(fault(path)(error)),
    }
}

/// Opens a directory that no link leads to.
fn open_directory(parent: BorrowedFd<'_>, name: &str, path: &str) -> Result<OwnedFd, ArchiveFault> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat2(parent, name, flags, Mode::empty(), BENEATH) {
        Err(Errno::LOOP) => Err(ArchiveFault::ThroughLink),
        Err(Errno::NOTDIR) => Err(ArchiveFault::Clash { name: path.to_owned() }),
        found => found.map_err(fault(path)),
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
fn copy(
    name: &str,
    size: u64,
    data: &mut impl Read,
    file: &mut File,
    buffer: &mut [u8],
) -> Result<(), ArchiveFault> {
    let mut left = size;
    while left > 0 {
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        data.read_exact(&mut buffer[..count])?;
        let written = file.write_all(&buffer[..count]);
        written.map_err(|source| ArchiveFault::Io { name: name.to_owned(), source })?;
        left -= count as u64;
    }
    Ok(())
}
