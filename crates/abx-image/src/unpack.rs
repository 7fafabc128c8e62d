//! A layer's tar stream into a fresh directory, in the form overlayfs mounts.
//!
//! Names are looked up with the directory as their root, so nothing lands outside it whatever the archive
//! says; a later member replaces an earlier one; `.wh.name` becomes a whiteout and `.wh..wh..opq` an opaque
//! directory. Device nodes are left out with a note: a sandbox has a `/dev` of its own. Memory grows with the
//! number of directories only, for their times are set last.

mod ahead;
mod compression;
mod fault;
mod node;
mod path;
mod tree;
mod xattr;

use std::io::{self, Read};
use std::panic::resume_unwind;
use std::path::Path;

use crate::tarball::{Entry, Kind, Reader};
use crate::{Digest, ImageError};

use ahead::Ahead;
pub use fault::LayerFault;
use path::{Name, Whiteout};
use tree::Tree;
pub(crate) use xattr::wanted as wanted_xattr;

/// At most so many notes are kept; the rest is counted.
const NOTES: usize = 20;

/// What an archive came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Digest of the uncompressed archive, to its very end.
    pub diff_id: Digest,
    /// Members, markers included.
    pub entries: u64,
    /// Bytes of the uncompressed archive.
    pub bytes: u64,
    /// What was left out and why, for the user.
    pub notes: Vec<String>,
}

/// Unpacks `stream` (plain, gzip or zstd, told by its first bytes) into the directory `into`, which should be
/// empty. On an error the directory holds a part: throw it away. Blocks; needs root for owners and whiteouts.
pub fn unpack(stream: impl Read + Send, into: &Path) -> Result<Unpacked, ImageError> {
    let (sender, plain) = ahead::ends();
    std::thread::scope(|scope| {
        let decompressing = scope.spawn(move || ahead::run(stream, &sender));
        let filled = fill(plain, into);
        let (diff_id, bytes) = decompressing.join().unwrap_or_else(|panic| resume_unwind(panic));
        let (entries, notes) = filled?;
        Ok(Unpacked { diff_id, entries, bytes, notes })
    })
}

/// Applies the members of a plain archive, and reads it to its very end. Returns their number and the notes.
fn fill(plain: Ahead, into: &Path) -> Result<(u64, Vec<String>), ImageError> {
    let unreadable = |source| ImageError::Layer { entry: String::new(), source: LayerFault::Tar(source) };
    let mut reader = Reader::new(plain);
    let mut layer = Layer { tree: Tree::open(into)?, notes: Vec::new(), left_out: 0 };
    let mut entries = 0;
    while let Some(entry) = reader.next_entry().map_err(unreadable)? {
        entries += 1;
        let applied = layer.apply(&entry, &mut reader);
        applied.map_err(|source| ImageError::Layer { entry: printable(&entry.path), source })?;
    }
    layer.tree.finish().map_err(|source| ImageError::Layer { entry: String::new(), source })?;
    // The digest covers what follows the end mark; reading on also checks the compression's own checksum.
    let mut rest = reader.into_inner();
    io::copy(&mut rest, &mut io::sink()).map_err(|error| unreadable(error.into()))?;
    Ok((entries, layer.into_notes()))
}

struct Layer {
    tree: Tree,
    notes: Vec<String>,
    left_out: usize,
}

impl Layer {
    fn apply(&mut self, entry: &Entry, data: &mut impl Read) -> Result<(), LayerFault> {
        let Some(name) = Name::parse(&entry.path)? else {
            // The layer's own root: only a directory makes sense there.
            return match entry.kind {
                Kind::Directory => self.tree.set_root(entry),
                _ => Err(LayerFault::Path),
            };
        };
        match name.whiteout()? {
            Some(Whiteout::Opaque) => return self.tree.make_opaque(name.parent()),
            Some(Whiteout::Hides(hidden)) => return self.tree.white_out(name.parent(), hidden),
            // Notes another union file system kept for itself.
            Some(Whiteout::Foreign) => return Ok(()),
            None => {}
        }
        match &entry.kind {
            Kind::Directory => self.tree.directory(&name, entry),
            Kind::File => self.tree.file(&name, entry, data),
            Kind::Symlink(target) => self.tree.symlink(&name, target, entry),
            Kind::Fifo => self.tree.fifo(&name, entry),
            Kind::HardLink(target) => {
                let target = Name::parse(target)?.ok_or(LayerFault::Path)?;
                self.tree.hard_link(&name, &target)
            }
            Kind::Device { character, major, minor } => {
                let kind = if *character { "character" } else { "block" };
                self.note(format!("left out {}: {kind} device {major}:{minor}", printable(&entry.path)));
                Ok(())
            }
        }
    }

    fn note(&mut self, note: String) {
        match self.notes.len() < NOTES {
            true => self.notes.push(note),
            false => self.left_out += 1,
        }
    }

    fn into_notes(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.notes.push(format!("and {} more of that kind", self.left_out));
        }
        self.notes.extend(self.tree.note());
        self.notes
    }
}

/// A name from an archive, fit for a terminal.
fn printable(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}

#[cfg(test)]
mod tests;
