//! Writing files into a layer, as BuildKit copies them: only the destination itself is looked up through links, what
//! lies below it takes the place of a file of the same name, and never that of the other kind.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Timespec, Timestamps, mknodat, utimensat};

use super::files::{Item, Node};
use super::mode::Chmod;
use super::xattrs;
use crate::canvas::{Canvas, Look, Owner, TIME, copy_hashed};
use crate::dockerfile::refusal::Refusal;

/// Writes files to a canvas.
pub(in crate::dockerfile) struct Painter<'c> {
    pub(in crate::dockerfile) canvas: &'c Canvas,
    /// To whom all of it belongs, folders that are made on the way included; `None` for the owner each file has.
    pub(in crate::dockerfile) owner: Option<Owner>,
    pub(in crate::dockerfile) mode: Option<Chmod>,
    /// Whether files may be second names of those they are copied from: only for what nobody writes to.
    pub(in crate::dockerfile) is_linking: bool,
    /// Whether files and directories take the place of each other, as they do when an archive is unpacked.
    pub(in crate::dockerfile) is_replacing: bool,
    /// The copies of files with several names.
    pub(in crate::dockerfile) copies: HashMap<(u64, u64), PathBuf>,
}

impl<'c> Painter<'c> {
    pub(in crate::dockerfile) fn new(canvas: &'c Canvas) -> Self {
        Self {
            canvas,
            owner: None,
            mode: None,
            is_linking: false,
            is_replacing: false,
            copies: HashMap::new(),
        }
    }

    /// Writes items below `target`; one with an empty path is `target` itself.
    pub(in crate::dockerfile) fn paint(&mut self, target: &Path, items: &[Item]) -> Result<(), Refusal> {
        for item in items {
            let is_top = item.path.as_os_str().is_empty();
            match (&item.node, is_top) {
                (Node::Directory, true) => self.folder(target)?,
                (Node::Directory, false) => self.directory(&target.join(&item.path), item)?,
                (_, true) => self.leaf(target, item)?,
                (_, false) => self.leaf(&target.join(&item.path), item)?,
            }
        }
        Ok(())
    }

    /// Makes a directory that is copied into, with those that lead to it. One that is there stays as it is.
    pub(in crate::dockerfile) fn folder(&self, path: &Path) -> Result<(), Refusal> {
        match self.canvas.directories(path, self.owner.unwrap_or_default()) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOTDIR.raw_os_error()) => {
                Err(Refusal::BelowFile { path: path.display().to_string() })
            }
            Err(error) => Err(failed(path)(error)),
        }
    }

    fn directory(&self, path: &Path, item: &Item) -> Result<(), Refusal> {
        if self.canvas.look(path).map_err(failed(path))? == Look::File {
            if !self.is_replacing {
                return Err(Refusal::OverFile { path: path.display().to_string() });
            }
            self.canvas.replace(path).map_err(failed(path))?;
        }
        let mode = self.mode.as_ref().map_or(item.mode, |mode| mode.apply(item.mode, true));
        self.canvas.dress(path, mode, self.owner.unwrap_or(item.owner)).map_err(failed(path))
    }

    /// Writes anything but a directory.
    fn leaf(&mut self, path: &Path, item: &Item) -> Result<(), Refusal> {
        if let Some(parent) = path.parent().filter(|_| item.path.as_os_str().is_empty()) {
            self.folder(parent)?;
        }
        let host = self.room(path)?;
        if let Some(copy) = item.inode.and_then(|inode| self.copies.get(&inode)) {
            return std::fs::hard_link(copy, &host).map_err(failed(path));
        }
        match &item.node {
            Node::File { digest } => self.content(&host, item, digest)?,
            Node::Text { content } => std::fs::write(&host, content).map_err(failed(path))?,
            Node::Link { target } => std::os::unix::fs::symlink(target, &host).map_err(failed(path))?,
            Node::Fifo => mknodat(CWD, &host, FileType::Fifo, item.mode.into(), 0)
                .map_err(|errno| failed(path)(errno.into()))?,
            Node::Directory => {}
        }
        if !self.is_linking || !matches!(item.node, Node::File { .. }) {
            self.dress(&host, item).map_err(failed(path))?;
        }
        self.copies.extend(item.inode.map(|inode| (inode, host)));
        Ok(())
    }

    /// Makes room for anything but a directory, and returns its place in the layer.
    fn room(&self, path: &Path) -> Result<PathBuf, Refusal> {
        if self.canvas.look(path).map_err(failed(path))? == Look::Directory {
            if !self.is_replacing {
                return Err(Refusal::OverDirectory { path: path.display().to_string() });
            }
            self.canvas.remove_directory(path).map_err(failed(path))?;
        }
        self.canvas.clear(path).map_err(failed(path))
    }

    /// Writes a member of an archive, its content taken from `data`.
    pub(super) fn member(&mut self, path: &Path, item: &Item, data: &mut impl Read) -> Result<(), Refusal> {
        self.folder(path.parent().unwrap_or(Path::new("/")))?;
        match &item.node {
            Node::Directory => self.directory(path, item),
            Node::File { .. } => {
                let host = self.room(path)?;
                let mut write = || -> io::Result<()> {
                    io::copy(data, &mut File::options().write(true).create_new(true).open(&host)?)?;
                    self.dress(&host, item)
                };
                write().map_err(failed(path))
            }
            _ => self.leaf(path, item),
        }
    }

    /// Gives a file of this layer another name.
    pub(super) fn again(&self, path: &Path, target: &Path) -> Result<(), Refusal> {
        self.folder(path.parent().unwrap_or(Path::new("/")))?;
        if self.canvas.look(target).map_err(failed(target))? != Look::File {
            let place = "the archive, which links to it".to_owned();
            return Err(Refusal::NoSource { path: target.display().to_string(), place });
        }
        let source = self.canvas.here(target).map_err(failed(target))?;
        let host = self.room(path)?;
        std::fs::hard_link(source, host).map_err(failed(path))
    }

    /// Copies a file's content, which must be the one its digest was taken of, where it was.
    fn content(&self, host: &Path, item: &Item, digest: &str) -> Result<(), Refusal> {
        let path = || item.host.display().to_string();
        if self.is_linking {
            let linked = std::fs::hard_link(&item.host, host);
            return linked.map_err(|source| Refusal::File { verb: "link", path: path(), source });
        }
        let copy = || -> io::Result<String> {
            let mut from = File::open(&item.host)?;
            let mut to = File::options().write(true).create_new(true).mode(0o600).open(host)?;
            copy_hashed(&mut from, &mut to)
        };
        let copied = copy().map_err(|source| Refusal::File { verb: "copy", path: path(), source })?;
        // Files of the store, which stay as they are, may come without.
        if copied == digest || digest.is_empty() { Ok(()) } else { Err(Refusal::Changed { path: path() }) }
    }

    fn dress(&self, host: &Path, item: &Item) -> io::Result<()> {
        let owner = self.owner.unwrap_or(item.owner);
        std::os::unix::fs::lchown(host, Some(owner.uid), Some(owner.gid))?;
        if !matches!(item.node, Node::Link { .. }) {
            use std::os::unix::fs::PermissionsExt;
            let mode = self.mode.as_ref().map_or(item.mode, |mode| mode.apply(item.mode, false));
            std::fs::set_permissions(host, std::fs::Permissions::from_mode(mode))?;
        }
        // After the owner, a change of which takes file capabilities away.
        xattrs::write(host, &item.xattrs)?;
        let time = item.time.unwrap_or(Timespec { tv_sec: TIME, tv_nsec: 0 });
        let times = Timestamps { last_access: time, last_modification: time };
        Ok(utimensat(CWD, host, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Refusal + use<> {
    let path = path.display().to_string();
    move |source| Refusal::File { verb: "write", path, source }
}
