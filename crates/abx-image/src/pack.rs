//! A layer directory back into a tar stream.
//!
//! The same directory gives the same bytes: members in the order of their paths, numeric owners, whole seconds,
//! nothing of the host. Whiteouts become `.wh.` names again, an opaque directory `.wh..wh..opq`, and several
//! names of one file hard links.

mod fault;
pub(crate) mod gzip;
mod xattr;

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use crate::digest::Hashing;
use crate::tarball::{Entry, Kind, Time, Writer};
use crate::{Digest, ImageError};

pub use fault::PackFault;

/// How to pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackOptions {
    /// No file is newer than this, in seconds since 1970.
    pub clamp_mtime: Option<i64>,
}

/// What a packed layer came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Digest of the tar.
    pub diff_id: Digest,
    /// Its length.
    pub bytes: u64,
}

/// Packs the layer directory `layer` into `target`. Sockets are left out, as no archive can hold them. A
/// layer whose overlayfs shared files with the layers below (`redirect_dir`, `metacopy`) is refused: it does
/// not hold its own content.
pub fn pack(layer: &Path, options: PackOptions, target: impl Write) -> Result<Packed, ImageError> {
    let mut packer = Packer { writer: Writer::new(Hashing::new(target)), options, names: HashMap::new() };
    let fault = |path: &Path| {
        let path = path.to_owned();
        move |source| ImageError::Pack { path, source }
    };
    for found in WalkDir::new(layer).min_depth(1).sort_by_file_name() {
        let found = found.map_err(|error| fault(layer)(PackFault::Read(error.into())))?;
        let name = found.path().strip_prefix(layer).expect("found below it").as_os_str().as_bytes();
        packer.add(&found, name).map_err(fault(found.path()))?;
    }
    let ended = packer.writer.finish().map_err(|error| fault(layer)(PackFault::Write(error)))?;
    let (_, diff_id, bytes) = ended.finish();
    Ok(Packed { diff_id, bytes })
}

struct Packer<W: Write> {
    writer: Writer<Hashing<W>>,
    options: PackOptions,
    /// The first name of each file that has several, by device and inode.
    names: HashMap<(u64, u64), Vec<u8>>,
}

impl<W: Write> Packer<W> {
    fn add(&mut self, found: &DirEntry, name: &[u8]) -> Result<(), PackFault> {
        let metadata = found.path().symlink_metadata().map_err(PackFault::Read)?;
        if is_whiteout(&metadata) {
            return self.marker(beside(name, &[b".wh.", found.file_name().as_bytes()].concat()));
        }
        let Some(kind) = self.kind(found.path(), name, &metadata)? else { return Ok(()) };
        let newest = self.options.clamp_mtime.unwrap_or(i64::MAX);
        let found_xattrs = xattr::read(found.path())?;
        let mut entry = Entry {
            path: name.to_owned(),
            mode: metadata.mode() & 0o7777,
            size: if kind == Kind::File { metadata.len() } else { 0 },
            xattrs: match kind {
                Kind::HardLink(_) => Vec::new(),
                _ => found_xattrs.kept,
            },
            kind,
            uid: metadata.uid(),
            gid: metadata.gid(),
            mtime: Time { seconds: metadata.mtime().min(newest), nanoseconds: 0 },
        };
        match entry.kind {
            Kind::File => {
                let file = File::open(found.path()).map_err(PackFault::Read)?;
                self.append(&entry, file)
            }
            Kind::Directory => {
                entry.path.push(b'/');
                self.append(&entry, io::empty())?;
                match found_xattrs.opaque {
                    true => self.marker([name, b"/.wh..wh..opq"].concat()),
                    false => Ok(()),
                }
            }
            _ => self.append(&entry, io::empty()),
        }
    }

    /// What the file is to the archive; `None` for a socket.
    fn kind(&mut self, path: &Path, name: &[u8], metadata: &Metadata) -> Result<Option<Kind>, PackFault> {
        let file_type = metadata.file_type();
        if file_type.is_socket() {
            return Ok(None);
        }
        if file_type.is_dir() {
            return Ok(Some(Kind::Directory));
        }
        if metadata.nlink() > 1 {
            let first = self.names.entry((metadata.dev(), metadata.ino())).or_insert_with(|| name.to_owned());
            if first != name {
                return Ok(Some(Kind::HardLink(first.clone())));
            }
        }
        Ok(Some(if file_type.is_symlink() {
            let target = path.read_link().map_err(PackFault::Read)?;
            Kind::Symlink(target.into_os_string().into_encoded_bytes())
        } else if file_type.is_fifo() {
            Kind::Fifo
        } else if file_type.is_char_device() || file_type.is_block_device() {
            let (major, minor) = (rustix::fs::major(metadata.rdev()), rustix::fs::minor(metadata.rdev()));
            Kind::Device { character: file_type.is_char_device(), major, minor }
        } else {
            Kind::File
        }))
    }

    /// An empty file that says something of the layers below. When that was said is of no use to anyone, and
    /// unpacking would not keep it.
    fn marker(&mut self, path: Vec<u8>) -> Result<(), PackFault> {
        let (kind, mtime, xattrs) = (Kind::File, Time::default(), Vec::new());
        let entry = Entry { path, kind, mode: 0o600, uid: 0, gid: 0, mtime, size: 0, xattrs };
        self.append(&entry, io::empty())
    }

    fn append(&mut self, entry: &Entry, data: impl io::Read) -> Result<(), PackFault> {
        self.writer.append(entry, data).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => PackFault::Read(error),
            _ => PackFault::Write(error),
        })
    }
}

fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// `name` with another last component.
fn beside(name: &[u8], last: &[u8]) -> Vec<u8> {
    let parent = name.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    [&name[..parent], last].concat()
}

#[cfg(test)]
mod tests;
