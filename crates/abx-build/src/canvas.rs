//! Writing into a layer directly, as if through the overlay it will be part of.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, Gid, Timespec, Timestamps, Uid};
use sha2::{Digest, Sha256};

use crate::key::hex;
use crate::view::{View, step_into};

/// Modification time of everything written here, so that a layer is the same whenever it is made:
/// 1980-01-01, the earliest that zip archives can hold.
pub(crate) const TIME: i64 = 315_532_800;

/// User and group a file belongs to, as the image numbers them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Owner {
    pub(crate) const ROOT: Self = Self { uid: 0, gid: 0 };
}

/// A layer being written over the layers below it.
///
/// Every path is one inside the root; links in it are followed there, so that nothing is ever written
/// outside the layer's directory.
#[derive(Debug)]
pub(crate) struct Canvas {
    upper: PathBuf,
    view: View,
    /// Directories that are in this layer, by the paths they were asked for.
    known: RefCell<HashMap<PathBuf, Rc<Directory>>>,
}

/// A directory of this layer.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Its path inside the root, without links.
    pub(crate) inside: PathBuf,
    /// Its place in this layer.
    host: PathBuf,
    /// Its places in the layers below, top first.
    below: Vec<PathBuf>,
}

/// What a path shows that is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Nothing,
    /// A file, a link or anything but a directory.
    File,
    Directory,
}

/// What a directory has under a name.
enum Existing {
    Nothing,
    Link,
    File,
    Directory {
        /// The attributes it shows.
        metadata: Box<Metadata>,
        /// Its places in the layers below.
        below: Vec<PathBuf>,
        /// Whether it is in this layer already.
        is_here: bool,
    },
}

impl Canvas {
    /// Writes go to `upper`; `lower` shows what is there already.
    pub(crate) fn new(lower: &View, upper: &Path) -> Self {
        let view = lower.with(upper);
        let below = view.layers().iter().rev().skip(1).cloned().collect();
        let root = Directory { inside: PathBuf::from("/"), host: upper.to_owned(), below };
        let known = HashMap::from([(PathBuf::from("/"), Rc::new(root))]);
        Self { upper: upper.to_owned(), view, known: RefCell::new(known) }
    }

    /// The layers with what has been written so far.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// Writes a file, replacing what is there.
    pub(crate) fn file(
        &self,
        path: impl AsRef<Path>,
        content: &[u8],
        mode: u32,
        owner: Owner,
    ) -> io::Result<()> {
        let mut file = create(&self.place(path.as_ref())?)?;
        file.write_all(content)?;
        finish_file(&file, mode, owner)
    }

    /// Replaces the text of a file that keeps its mode and owner.
    pub(crate) fn edit(&self, path: &str, content: &str) -> io::Result<()> {
        let (mode, owner) = match self.view.find(path)? {
            Some(found) => attributes(&found.metadata),
            None => (0o644, Owner::ROOT),
        };
        self.file(path, content.as_bytes(), mode, owner)
    }

    /// Copies a file of the host, and returns the `sha256` of what was copied, in hex.
    pub(crate) fn copy(&self, path: &Path, source: &Path, mode: u32, owner: Owner) -> io::Result<String> {
        let mut from = File::open(source)?;
        let mut to = create(&self.place(path)?)?;
        let digest = copy_hashed(&mut from, &mut to)?;
        finish_file(&to, mode, owner)?;
        Ok(digest)
    }

    /// Makes a symbolic link, replacing what is there.
    pub(crate) fn link(&self, path: &Path, target: &Path, owner: Owner) -> io::Result<()> {
        // The link's own name must not be followed, only its parent.
        let (parent, name) = self.split(path)?;
        let host = parent.host.join(name);
        remove(&host)?;
        std::os::unix::fs::symlink(target, &host)?;
        own(&host, owner)?;
        stamp(&host)
    }

    /// What is at a path whose last part is not followed; parents are made where they are missing.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Look> {
        let (parent, name) = self.split(path)?;
        Ok(match parent.existing(name)? {
            Existing::Nothing => Look::Nothing,
            Existing::Link | Existing::File => Look::File,
            Existing::Directory { .. } => Look::Directory,
        })
    }

    /// The place of a path in this layer, its last part not followed; what is there is removed.
    pub(crate) fn clear(&self, path: &Path) -> io::Result<PathBuf> {
        let host = self.here(path)?;
        remove(&host)?;
        Ok(host)
    }

    /// Makes an empty directory in the place of a file or link.
    pub(crate) fn replace(&self, path: &Path) -> io::Result<()> {
        let host = self.clear(path)?;
        std::fs::DirBuilder::new().mode(0o700).create(&host)
    }

    /// Removes what this layer has of a directory, so that something else can take its place.
    pub(crate) fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.known.borrow_mut().retain(|known, _| !known.starts_with(path));
        match std::fs::remove_dir_all(self.here(path)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    /// The place of a path in this layer, its last part not followed.
    pub(crate) fn here(&self, path: &Path) -> io::Result<PathBuf> {
        let (parent, name) = self.split(path)?;
        Ok(parent.host.join(name))
    }

    /// Gives a directory, which is made where it is missing, these attributes.
    pub(crate) fn dress(&self, path: &Path, mode: u32, owner: Owner) -> io::Result<()> {
        let directory = self.directory(path, mode, owner)?;
        finish(&directory.host, mode, owner)
    }

    /// Makes a directory and those that lead to it where they are missing, each belonging to `owner`.
    pub(crate) fn directories(&self, path: &Path, owner: Owner) -> io::Result<Rc<Directory>> {
        for parent in path.ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
            self.directory(parent, 0o755, owner)?;
        }
        self.directory(path, 0o755, owner)
    }

    /// Makes a directory and its parents where they are missing; an existing one keeps its attributes.
    /// Parents belong to root.
    pub(crate) fn directory(&self, path: &Path, mode: u32, owner: Owner) -> io::Result<Rc<Directory>> {
        let path = plain(path);
        if let Some(known) = self.known.borrow().get(&path) {
            return Ok(Rc::clone(known));
        }
        let (parent, name) = self.split(&path)?;
        let made = match parent.existing(name)? {
            Existing::Link => {
                let real = self.view.real(&path)?;
                if real == path {
                    return Err(io::Error::from(rustix::io::Errno::LOOP));
                }
                self.directory(&real, mode, owner)?
            }
            Existing::File => return Err(io::Error::from(rustix::io::Errno::NOTDIR)),
            existing => Rc::new(parent.enter(name, existing, mode, owner)?),
        };
        self.known.borrow_mut().insert(path, Rc::clone(&made));
        Ok(made)
    }

    /// Gives an existing directory to `owner`, its content left alone.
    pub(crate) fn give(&self, path: &Path, owner: Owner) -> io::Result<()> {
        let Some(found) = self.view.find(path)? else { return Ok(()) };
        let (mode, current) = attributes(&found.metadata);
        if current == owner {
            return Ok(());
        }
        let directory = self.directory(&found.inside, mode, owner)?;
        finish(&directory.host, mode, owner)
    }

    /// Gives every directory the one time of all that is written here: making a file in one has changed it.
    pub(crate) fn seal(&self) -> io::Result<()> {
        for entry in walkdir::WalkDir::new(&self.upper).min_depth(1) {
            let entry = entry?;
            if entry.file_type().is_dir() {
                stamp(entry.path())?;
            }
        }
        Ok(())
    }

    /// Where a file of that path goes in this layer; its parents are made.
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        let (parent, name) = self.split(path)?;
        match parent.existing(name)? {
            Existing::Nothing | Existing::File => Ok(parent.host.join(name)),
            Existing::Directory { .. } => Err(io::Error::from(rustix::io::Errno::ISDIR)),
            Existing::Link => {
                let real = self.view.real(path)?;
                if real == path {
                    return Err(io::Error::from(rustix::io::Errno::LOOP));
                }
                self.place(&real)
            }
        }
    }

    /// The directory a path lies in, made where it is missing, and the name it has there.
    fn split<'p>(&self, path: &'p Path) -> io::Result<(Rc<Directory>, &'p OsStr)> {
        let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok((self.directory(parent, 0o755, Owner::ROOT)?, name))
    }
}

impl Directory {
    fn existing(&self, name: &OsStr) -> io::Result<Existing> {
        let places = || std::iter::once(&self.host).chain(&self.below);
        let Some((host, metadata, merged)) = step_into(places(), Path::new(name))? else {
            return Ok(Existing::Nothing);
        };
        if metadata.is_symlink() {
            return Ok(Existing::Link);
        }
        if !metadata.is_dir() {
            return Ok(Existing::File);
        }
        let is_here = host.parent() == Some(&self.host);
        let below = merged.into_iter().skip(usize::from(is_here)).collect();
        Ok(Existing::Directory { metadata: Box::new(metadata), below, is_here })
    }

    /// The directory `name` of this one, made where this layer lacks it.
    fn enter(&self, name: &OsStr, existing: Existing, mode: u32, owner: Owner) -> io::Result<Self> {
        let (inside, host) = (self.inside.join(name), self.host.join(name));
        let below = match existing {
            Existing::Directory { below, is_here: true, .. } => below,
            Existing::Directory { metadata, below, is_here: false } => {
                make_directory(&host)?;
                // As overlayfs does when it copies one up.
                let (mode, owner) = attributes(&metadata);
                finish(&host, mode, owner)?;
                below
            }
            _ => {
                make_directory(&host)?;
                finish(&host, mode, owner)?;
                Vec::new()
            }
        };
        Ok(Self { inside, host, below })
    }
}

/// A new directory. One in the place of something deleted hides what lies below, which a plain one would not.
fn make_directory(host: &Path) -> io::Result<()> {
    let is_in_the_way = host.symlink_metadata().is_ok();
    remove(host)?;
    std::fs::DirBuilder::new().mode(0o700).create(host)?;
    if is_in_the_way {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::lsetxattr(host, "trusted.overlay.opaque", b"y", flags)?;
    }
    Ok(())
}

/// A path inside the root without `.` and repeated slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

pub(crate) fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = [0; 32 * 1024];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            length => {
                hasher.update(&buffer[..length]);
                to.write_all(&buffer[..length])?;
            }
        }
    }
}

/// Mode and owner of what is there.
pub(crate) fn attributes(metadata: &std::fs::Metadata) -> (u32, Owner) {
    (metadata.mode() & 0o7777, Owner { uid: metadata.uid(), gid: metadata.gid() })
}

/// A new file in the place of whatever of this layer is there.
fn create(host: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(host) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            remove(host)?;
            options.open(host)
        }
        file => file,
    }
}

/// [`finish`] for a file that is open, which need not be looked up three times more.
fn finish_file(file: &File, mode: u32, owner: Owner) -> io::Result<()> {
    let changed = std::os::unix::fs::fchown(file, Some(owner.uid), Some(owner.gid));
    changed.or_else(|error| if attributes(&file.metadata()?).1 == owner { Ok(()) } else { Err(error) })?;
    file.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(rustix::fs::futimens(file, &times())?)
}

fn finish(host: &Path, mode: u32, owner: Owner) -> io::Result<()> {
    own(host, owner)?;
    std::fs::set_permissions(host, std::fs::Permissions::from_mode(mode))?;
    stamp(host)
}

fn own(host: &Path, owner: Owner) -> io::Result<()> {
    std::os::unix::fs::lchown(host, Some(owner.uid), Some(owner.gid)).or_else(|error| {
        // Without privilege everything stays the caller's: the ids are right where they can be.
        let is_ours = owner_of(host).is_ok_and(|current| current == owner);
        if is_ours { Ok(()) } else { Err(error) }
    })
}

fn owner_of(host: &Path) -> io::Result<Owner> {
    let stat = rustix::fs::statat(CWD, host, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Owner { uid: Uid::from_raw(stat.st_uid).as_raw(), gid: Gid::from_raw(stat.st_gid).as_raw() })
}

pub(crate) fn stamp(host: &Path) -> io::Result<()> {
    Ok(rustix::fs::utimensat(CWD, host, &times(), AtFlags::SYMLINK_NOFOLLOW)?)
}

fn times() -> Timestamps {
    let time = Timespec { tv_sec: TIME, tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}

/// Removes a file or link of this layer that is in the way.
fn remove(host: &Path) -> io::Result<()> {
    match std::fs::remove_file(host) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
