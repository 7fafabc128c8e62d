//! Writing into a layer directly, as if through the overlay it will be part of.

use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Timespec, Timestamps, Uid};
use sha2::{Digest, Sha256};

use crate::key::hex;
use crate::view::View;

/// Modification time of everything written here, so that a layer is the same whenever it is made:
/// 1980-01-01, the earliest that zip archives can hold.
const TIME: i64 = 315_532_800;

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
}

impl Canvas {
    /// Writes go to `upper`; `lower` shows what is there already.
    pub(crate) fn new(lower: &View, upper: &Path) -> Self {
        Self { upper: upper.to_owned(), view: lower.with(upper) }
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
        let host = self.place(path.as_ref())?;
        remove(&host)?;
        std::fs::write(&host, content)?;
        finish(&host, mode, owner)
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
        let host = self.place(path)?;
        remove(&host)?;
        let mut from = std::fs::File::open(source)?;
        let mut to = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&host)?;
        let digest = copy_hashed(&mut from, &mut to)?;
        finish(&host, mode, owner)?;
        Ok(digest)
    }

    /// Makes a symbolic link, replacing what is there.
    pub(crate) fn link(&self, path: &Path, target: &Path, owner: Owner) -> io::Result<()> {
        // The link's own name must not be followed, only its parent.
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = self.directory(path.parent().unwrap_or(Path::new("/")), 0o755, Owner::ROOT)?;
        let host = parent.join(name);
        remove(&host)?;
        std::os::unix::fs::symlink(target, &host)?;
        own(&host, owner)?;
        stamp(&host)
    }

    /// Makes a directory and its parents where they are missing; an existing one keeps its attributes.
    /// Parents belong to root. Returns its place in this layer.
    pub(crate) fn directory(&self, path: &Path, mode: u32, owner: Owner) -> io::Result<PathBuf> {
        let real = self.view.real(path)?;
        if let Some(found) = self.view.find(&real)?
            && !found.metadata.is_dir()
        {
            return Err(io::Error::from(rustix::io::Errno::NOTDIR));
        }
        let mut inside = PathBuf::from("/");
        let mut host = self.upper.clone();
        let depth = real.components().count();
        for (index, part) in real.components().enumerate().skip(1) {
            inside.push(part);
            host.push(part);
            let existing = self.view.find(&inside)?;
            if host.is_dir() {
                continue;
            }
            remove(&host)?;
            std::fs::DirBuilder::new().mode(0o700).create(&host)?;
            match existing {
                Some(found) => mirror(&host, &found.metadata)?,
                None if index + 1 == depth => finish(&host, mode, owner)?,
                None => finish(&host, 0o755, Owner::ROOT)?,
            }
        }
        Ok(host)
    }

    /// Gives an existing directory to `owner`, its content left alone.
    pub(crate) fn give(&self, path: &Path, owner: Owner) -> io::Result<()> {
        let Some(found) = self.view.find(path)? else { return Ok(()) };
        let (mode, current) = attributes(&found.metadata);
        if current == owner {
            return Ok(());
        }
        let host = self.directory(&found.inside, mode, owner)?;
        finish(&host, mode, owner)
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
        let real = self.view.real(path)?;
        if self.view.find(&real)?.is_some_and(|found| found.metadata.is_dir()) {
            return Err(io::Error::from(rustix::io::Errno::ISDIR));
        }
        let name = real.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = real.parent().unwrap_or(Path::new("/"));
        Ok(self.directory(parent, 0o755, Owner::ROOT)?.join(name))
    }
}

fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
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

/// Makes a directory of this layer look as the one below does, as overlayfs does when it copies one up.
fn mirror(host: &Path, below: &std::fs::Metadata) -> io::Result<()> {
    let (mode, owner) = attributes(below);
    own(host, owner)?;
    std::fs::set_permissions(host, std::fs::Permissions::from_mode(mode))?;
    stamp(host)
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

fn stamp(host: &Path) -> io::Result<()> {
    let time = Timespec { tv_sec: TIME, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(rustix::fs::utimensat(CWD, host, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Removes a file or link of this layer that is in the way.
fn remove(host: &Path) -> io::Result<()> {
    match std::fs::remove_file(host) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
