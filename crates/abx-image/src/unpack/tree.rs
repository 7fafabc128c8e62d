//! The directory being filled: every change to it, looked up below its root.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid, XattrFlags, chmodat,
    chownat, fchmod, fchown, futimens, linkat, mkdirat, mknodat, openat, openat2, symlinkat, unlinkat,
    utimensat,
};
use rustix::io::Errno;

use super::LayerFault;
use super::node::Node;
use super::path::Name;
use super::xattr::{self, path_at};
use crate::ImageError;
use crate::tarball::{Entry, Time};

const OPAQUE: &str = "trusted.overlay.opaque";

/// A layer directory, open.
pub(super) struct Tree {
    root: OwnedFd,
    /// The last parent looked up: members come sorted by directory. Dropped whenever a directory goes.
    recent: Option<(Vec<u8>, Rc<OwnedFd>)>,
    /// Directories with the times to give them at the end.
    times: Vec<(Vec<u8>, Time)>,
    /// Whether some attribute could not be kept.
    attributes_lost: bool,
}

impl Tree {
    pub(super) fn open(path: &Path) -> Result<Self, ImageError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty());
        let root = root.map_err(|error| ImageError::store("open", path)(error.into()))?;
        Ok(Self { root, recent: None, times: Vec::new(), attributes_lost: false })
    }

    /// Owner, mode and attributes of the layer's root.
    pub(super) fn set_root(&mut self, entry: &Entry) -> Result<(), LayerFault> {
        let root = self.look_up(b"")?;
        self.dress_directory(&root, b"", entry)
    }

    pub(super) fn directory(&mut self, name: &Name, entry: &Entry) -> Result<(), LayerFault> {
        self.within(name.parent(), |tree, parent| {
            let before = Node::at(parent, name.last())?;
            if before != Node::Directory {
                tree.clear(parent, name.last(), before)?;
                make_directory(parent, name.last(), before == Node::Whiteout)?;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = openat(parent, name.last(), flags, Mode::empty()).map_err(LayerFault::make)?;
            tree.dress_directory(&directory, name.path(), entry)
        })
    }

    pub(super) fn file(
        &mut self,
        name: &Name,
        entry: &Entry,
        data: &mut impl Read,
    ) -> Result<(), LayerFault> {
        self.within(name.parent(), |tree, parent| {
            let mut file = tree.create(parent, name.last())?;
            let copied = copy(data, &mut file)?;
            debug_assert_eq!(copied, entry.size, "the reader tells a short member itself");
            let (owner, group) = owner(entry);
            fchown(&file, Some(owner), Some(group)).map_err(LayerFault::make)?;
            // After the owner, which clears the setuid bits and file capabilities.
            fchmod(&file, Mode::from_raw_mode(entry.mode)).map_err(LayerFault::make)?;
            tree.attributes(parent, name.last(), entry)?;
            futimens(&file, &timestamps(entry.mtime)).map_err(LayerFault::make)
        })
    }

    pub(super) fn symlink(&mut self, name: &Name, target: &[u8], entry: &Entry) -> Result<(), LayerFault> {
        self.within(name.parent(), |tree, parent| {
            tree.clear(parent, name.last(), Node::at(parent, name.last())?)?;
            symlinkat(target, parent, name.last()).map_err(LayerFault::make)?;
            tree.dress(parent, name.last(), entry)
        })
    }

    pub(super) fn fifo(&mut self, name: &Name, entry: &Entry) -> Result<(), LayerFault> {
        self.within(name.parent(), |tree, parent| {
            tree.clear(parent, name.last(), Node::at(parent, name.last())?)?;
            let mode = Mode::from_raw_mode(entry.mode);
            mknodat(parent, name.last(), FileType::Fifo, mode, 0).map_err(LayerFault::make)?;
            tree.dress(parent, name.last(), entry)?;
            // Not following links is no choice here; nobody but us works in this directory.
            chmodat(parent, name.last(), mode, AtFlags::empty()).map_err(LayerFault::make)
        })
    }

    pub(super) fn hard_link(&mut self, name: &Name, target: &Name) -> Result<(), LayerFault> {
        let source = match self.look_up(target.parent()) {
            Ok(source) => source,
            Err(LayerFault::Make(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LayerFault::LinkTarget);
            }
            Err(error) => return Err(error),
        };
        let found = Node::at(source.as_fd(), target.last())?;
        if matches!(found, Node::Nothing | Node::Directory) {
            return Err(LayerFault::LinkTarget);
        }
        self.within(name.parent(), |tree, parent| {
            let before = Node::at(parent, name.last())?;
            if before == found {
                return Ok(());
            }
            tree.clear(parent, name.last(), before)?;
            linkat(&source, target.last(), parent, name.last(), AtFlags::empty()).map_err(LayerFault::make)
        })
    }

    /// Hides what the layers below have under this name. What this layer has there stays: a directory then
    /// shows nothing from below.
    pub(super) fn white_out(&mut self, parent: &[u8], hidden: &[u8]) -> Result<(), LayerFault> {
        self.within(parent, |_, parent| match Node::at(parent, hidden)? {
            Node::Nothing => {
                mknodat(parent, hidden, FileType::CharacterDevice, Mode::empty(), 0).map_err(LayerFault::make)
            }
            Node::Directory => set_opaque(parent, hidden),
            Node::Whiteout | Node::Other { .. } => Ok(()),
        })
    }

    /// Hides everything the layers below have in this directory.
    pub(super) fn make_opaque(&mut self, directory: &[u8]) -> Result<(), LayerFault> {
        self.within(directory, |_, directory| set_opaque(directory, b"."))
    }

    /// Sets the times of directories, which every member within changed.
    pub(super) fn finish(&mut self) -> Result<(), LayerFault> {
        self.recent = None;
        for (path, time) in std::mem::take(&mut self.times) {
            match self.look_up(&path) {
                Ok(directory) => {
                    utimensat(&directory, "", &timestamps(time), AtFlags::EMPTY_PATH)
                        .map_err(LayerFault::make)?;
                }
                // A later member replaced it.
                Err(LayerFault::Parent) => {}
                Err(LayerFault::Make(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What the user should know of the whole.
    pub(super) fn note(&self) -> Option<String> {
        self.attributes_lost
            .then(|| "some extended attributes are not supported by the file system".to_owned())
    }

    /// Runs `work` on the directory at `path`, which is made, with its parents, where absent.
    fn within(
        &mut self,
        path: &[u8],
        work: impl FnOnce(&mut Self, BorrowedFd<'_>) -> Result<(), LayerFault>,
    ) -> Result<(), LayerFault> {
        let directory = match &self.recent {
            Some((recent, directory)) if recent == path => Rc::clone(directory),
            _ => Rc::new(self.look_up_or_make(path)?),
        };
        self.recent = Some((path.to_owned(), Rc::clone(&directory)));
        work(self, directory.as_fd().as_fd())
    }

    /// Looks a directory up with our root as its root: neither `..` nor a link leads out.
    fn look_up(&self, path: &[u8]) -> Result<OwnedFd, LayerFault> {
        let path = if path.is_empty() { b"." } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        match openat2(&self.root, path, flags, Mode::empty(), resolve) {
            Err(Errno::NOTDIR | Errno::LOOP) => Err(LayerFault::Parent),
            found => found.map_err(LayerFault::make),
        }
    }

    fn look_up_or_make(&mut self, path: &[u8]) -> Result<OwnedFd, LayerFault> {
        match self.look_up(path) {
            Err(LayerFault::Parent) => {}
            Err(LayerFault::Make(error)) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let name = Name::parse(path)?.ok_or(LayerFault::Path)?;
        let parent = self.look_up_or_make(name.parent())?;
        match Node::at(parent.as_fd(), name.last())? {
            // A whiteout in the way means: gone below, and here a new one.
            before @ (Node::Nothing | Node::Whiteout) => {
                self.clear(parent.as_fd(), name.last(), before)?;
                make_directory(parent.as_fd(), name.last(), before == Node::Whiteout)?;
                self.look_up(path)
            }
            Node::Directory | Node::Other { .. } => Err(LayerFault::Parent),
        }
    }

    fn create(&mut self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<File, LayerFault> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || openat(parent, name, flags, Mode::RUSR | Mode::WUSR);
        let created = match create() {
            Err(Errno::EXIST) => {
                self.clear(parent, name, Node::at(parent, name)?)?;
                create()
            }
            created => created,
        };
        Ok(File::from(created.map_err(LayerFault::make)?))
    }

    /// Makes room for a later member of the same name.
    fn clear(&mut self, parent: BorrowedFd<'_>, name: &[u8], node: Node) -> Result<(), LayerFault> {
        match node {
            Node::Nothing => Ok(()),
            Node::Directory => {
                self.recent = None;
                std::fs::remove_dir_all(path_at(parent, name)).map_err(LayerFault::Make)
            }
            Node::Whiteout | Node::Other { .. } => {
                // A link that goes may have been part of the recent path.
                self.recent = None;
                unlinkat(parent, name, AtFlags::empty()).map_err(LayerFault::make)
            }
        }
    }

    /// Owner, attributes and times of what is neither file nor directory.
    fn dress(&mut self, parent: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<(), LayerFault> {
        let (owner, group) = owner(entry);
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        chownat(parent, name, Some(owner), Some(group), nofollow).map_err(LayerFault::make)?;
        self.attributes(parent, name, entry)?;
        utimensat(parent, name, &timestamps(entry.mtime), nofollow).map_err(LayerFault::make)
    }

    fn dress_directory(&mut self, directory: &OwnedFd, path: &[u8], entry: &Entry) -> Result<(), LayerFault> {
        let (owner, group) = owner(entry);
        chownat(directory, ".", Some(owner), Some(group), AtFlags::empty()).map_err(LayerFault::make)?;
        let mode = Mode::from_raw_mode(entry.mode);
        chmodat(directory, ".", mode, AtFlags::empty()).map_err(LayerFault::make)?;
        self.attributes(directory.as_fd(), b".", entry)?;
        self.times.push((path.to_owned(), entry.mtime));
        Ok(())
    }

    fn attributes(&mut self, parent: BorrowedFd<'_>, name: &[u8], entry: &Entry) -> Result<(), LayerFault> {
        if !entry.xattrs.is_empty() {
            self.attributes_lost |= !xattr::set(&path_at(parent, name), &entry.xattrs)?;
        }
        Ok(())
    }
}

fn make_directory(parent: BorrowedFd<'_>, name: &[u8], opaque: bool) -> Result<(), LayerFault> {
    mkdirat(parent, name, Mode::RWXU).map_err(LayerFault::make)?;
    // Not left to the umask.
    chmodat(parent, name, Mode::from_raw_mode(0o755), AtFlags::empty()).map_err(LayerFault::make)?;
    match opaque {
        true => set_opaque(parent, name),
        false => Ok(()),
    }
}

fn set_opaque(parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), LayerFault> {
    rustix::fs::lsetxattr(path_at(parent, name), OPAQUE, b"y", XattrFlags::empty()).map_err(LayerFault::make)
}

fn owner(entry: &Entry) -> (Uid, Gid) {
    (Uid::from_raw(entry.uid), Gid::from_raw(entry.gid))
}

fn timestamps(time: Time) -> Timestamps {
    let time = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    Timestamps { last_access: time, last_modification: time }
}

/// Copies a member's data, telling a damaged archive from a full disk.
fn copy(data: &mut impl Read, file: &mut File) -> Result<u64, LayerFault> {
    use std::io::Write;
    let mut buffer = [0; 1 << 16];
    let mut copied = 0;
    loop {
        let count = match data.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LayerFault::Tar(error.into())),
        };
        file.write_all(&buffer[..count]).map_err(LayerFault::Make)?;
        copied += count as u64;
    }
}
