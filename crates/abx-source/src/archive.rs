//! A gzipped tar of somebody else in, a plain directory out.
//!
//! What could do harm is refused, skipped or neutralised: see [`extract()`]. Nothing is ever made through a link,
//! and every name is looked up below the directory that is being filled.

mod fault;
mod gunzip;
mod limited;
mod links;
mod member;
mod tree;

use std::io::{self, Read};
use std::path::Path;

use abx_image::tarball::{Entry, Kind, Reader};

pub use fault::ArchiveFault;
pub(crate) use gunzip::Gunzip;
pub(crate) use limited::Limited;
use member::{Member, Name};
use tree::Tree;

/// Bounds of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    pub entries: u64,
    /// Bytes as they are sent.
    pub compressed: u64,
    /// Bytes of all files.
    pub expanded: u64,
    /// Bytes of a path below the top folder.
    pub path: usize,
    /// Bytes of one of its components.
    pub component: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { entries: 100_000, compressed: 256 << 20, expanded: 1 << 30, path: 4096, component: 255 }
    }
}

/// What came out of an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    pub files: u64,
    /// Of all that is there now, see [`digest`](crate::digest); empty where nobody has asked for it.
    pub digest: String,
    /// The commit that the archive says it is of, unchecked.
    pub commit: Option<String>,
    /// The time of its newest member, in seconds since 1970: when the commit was made, where it is of one.
    pub newest: Option<i64>,
    /// How many members were left out.
    pub left_out: u64,
    /// The first of them, and why; readable, one thing each.
    pub skipped: Vec<String>,
    /// Files that are pointers of Git LFS instead of their content.
    pub lfs: Vec<String>,
    /// Folders that belong to submodules, and are empty.
    pub submodules: Vec<String>,
}

/// Where the content of an archive begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Below its one top folder, whatever that is called.
    TopFolder,
    /// At its root.
    Root,
}

/// So many bytes of headers and padding an entry may have beside its content.
const OVERHEAD: u64 = 4096;

/// So many of what there is to tell are told by name: an archive of nothing else must not fill memory.
const NAMED: usize = 1000;

/// Links are looked at again when all is there; no repository has so many that their names have more bytes.
const LINK_NAMES: u64 = 16 << 20;

/// A pointer of Git LFS has fewer bytes, by its specification.
const POINTER_SIZE: u64 = 1024;

/// Extracts into `directory`, which is empty, what is below the archive's one top folder.
///
/// Modes become 0755 or 0644, owners are ours. Left out with a word: devices, FIFOs, names that are not UTF-8, links
/// that leave the archive, and what would go through a link.
///
/// The source is read in another thread, which ends with it or soon after this returns.
///
/// # Errors
/// The archive is refused whole when it is damaged, empty, over a cap, has more than one top folder, a path that is
/// absolute or has `..`, or a hard link to something else than an earlier file of it. What is in `directory` then is
/// of no use.
pub fn extract(
    source: impl Read + Send + 'static,
    directory: &Path,
    caps: &Caps,
) -> Result<Extracted, ArchiveFault> {
    let compressed = Limited::new(source, caps.compressed, "bytes of download");
    extract_tar(Gunzip::start(compressed)?, directory, caps, Layout::TopFolder)
}

/// [`extract()`] of a tar that is not compressed, whose content begins where `layout` says.
pub(crate) fn extract_tar(
    source: impl Read,
    directory: &Path,
    caps: &Caps,
    layout: Layout,
) -> Result<Extracted, ArchiveFault> {
    let stream = caps.expanded.saturating_add(caps.entries.saturating_mul(OVERHEAD));
    let mut reader = Reader::new(Limited::new(source, stream, "bytes when unpacked"));
    let mut extraction = Extraction::new(directory, caps, layout)?;
    while let Some(entry) = reader.next_entry()? {
        extraction.entry(&entry, &mut reader)?;
    }
    extraction.done.commit = reader.comment().map(str::to_owned);
    // The checksum stands behind the last byte.
    io::copy(&mut reader.into_inner(), &mut io::sink())?;
    extraction.finish()
}

/// An archive of any kind on its way into a directory, member by member.
pub(crate) struct Extraction {
    tree: Tree,
    caps: Caps,
    layout: Layout,
    top: Option<Vec<u8>>,
    entries: u64,
    bytes: u64,
    /// Each is made as it is, since nothing is ever made through one, and looked at in the end.
    links: Vec<String>,
    link_bytes: u64,
    done: Extracted,
}

impl Extraction {
    pub(crate) fn new(directory: &Path, caps: &Caps, layout: Layout) -> Result<Self, ArchiveFault> {
        Ok(Self {
            tree: Tree::open(directory)?,
            caps: *caps,
            layout,
            top: None,
            entries: 0,
            bytes: 0,
            links: Vec::new(),
            link_bytes: 0,
            done: Extracted::default(),
        })
    }

    /// Makes one member; `data` yields its content.
    pub(crate) fn entry(&mut self, entry: &Entry, data: &mut impl Read) -> Result<(), ArchiveFault> {
        self.entries += 1;
        over("entries", self.entries, self.caps.entries)?;
        self.bytes = self.bytes.saturating_add(entry.size);
        // 1970 itself is how archives say that they tell no time.
        let time = Some(entry.mtime.seconds).filter(|seconds| *seconds > 0);
        self.done.newest = self.done.newest.max(time);
        over("bytes when unpacked", self.bytes, self.caps.expanded)?;
        let Member { top, name } = Member::parse(&entry.path, &self.caps, self.layout)?;
        match &self.top {
            None => self.top = Some(top.to_owned()),
            Some(first) if first != top => return Err(ArchiveFault::TwoTops),
            Some(_) => {}
        }
        let name = match name {
            Name::Top if entry.kind == Kind::Directory => return Ok(()),
            Name::Top => return Err(ArchiveFault::NoTop),
            Name::NotText(shown) => {
                self.skip(&shown, "its name is not UTF-8");
                return Ok(());
            }
            Name::Path(name) => name,
        };
        self.make(&name, entry, data)?;
        // A folder that is there for the sake of what is in it counts too.
        over("entries", self.entries.saturating_add(self.tree.implied()), self.caps.entries)
    }

    fn make(&mut self, name: &str, entry: &Entry, data: &mut impl Read) -> Result<(), ArchiveFault> {
        let made = match &entry.kind {
            Kind::Directory => self.tree.directory(name),
            Kind::File => self.file(name, entry, data),
            Kind::Symlink(target) => self.link(name, target),
            Kind::HardLink(target) => self.hard_link(name, target),
            Kind::Fifo => {
                self.skip(name, "it is a FIFO");
                return Ok(());
            }
            Kind::Device { .. } => {
                self.skip(name, "it is a device");
                return Ok(());
            }
        };
        match made {
            Err(ArchiveFault::ThroughLink) => {
                self.skip(name, "it would go through a link");
                Ok(())
            }
            made => made,
        }
    }

    fn file(&mut self, name: &str, entry: &Entry, data: &mut impl Read) -> Result<(), ArchiveFault> {
        let content = self.tree.file(name, entry.mode & 0o100 != 0, entry.size, data)?;
        self.done.files += 1;
        if entry.size < POINTER_SIZE
            && content.starts_with(b"version https://git-lfs.github.com/spec/")
            && self.done.lfs.len() < NAMED
        {
            self.done.lfs.push(name.to_owned());
        }
        if name == ".gitmodules" {
            self.done.submodules = submodules(content);
        }
        Ok(())
    }

    fn link(&mut self, name: &str, target: &[u8]) -> Result<(), ArchiveFault> {
        if target.is_empty() || target.contains(&0) {
            self.skip(name, "it leads nowhere");
            return Ok(());
        }
        self.tree.symlink(name, target)?;
        self.link_bytes += name.len() as u64;
        over("bytes in the names of its links", self.link_bytes, LINK_NAMES)?;
        self.links.push(name.to_owned());
        Ok(())
    }

    fn hard_link(&mut self, name: &str, target: &[u8]) -> Result<(), ArchiveFault> {
        let out = || ArchiveFault::HardLink { name: name.to_owned() };
        let Member { top, name: target } =
            Member::parse(target, &self.caps, self.layout).map_err(|_| out())?;
        match target {
            Name::Path(target) if self.top.as_deref() == Some(top) => {
                self.tree.hard_link(name, &target).map_err(|fault| match fault {
                    ArchiveFault::Io { .. } => fault,
                    _ => out(),
                })?;
            }
            _ => return Err(out()),
        }
        self.done.files += 1;
        Ok(())
    }

    /// Where links lead shows when all is there: some leave only by way of others.
    pub(crate) fn finish(mut self) -> Result<Extracted, ArchiveFault> {
        for name in std::mem::take(&mut self.links) {
            self.check_link(&name)?;
        }
        match self.done.files {
            0 => Err(ArchiveFault::Empty),
            _ => Ok(self.done),
        }
    }

    fn check_link(&mut self, name: &str) -> Result<(), ArchiveFault> {
        // A later member may have taken its place.
        let Some(target) = self.tree.read_link(name)? else { return Ok(()) };
        let reason = match std::str::from_utf8(&target) {
            Err(_) => "its target is not UTF-8".to_owned(),
            Ok(target) if links::leaves(name, target) => {
                format!("it leads out of the archive, to {target:?}")
            }
            Ok(_) if self.tree.link_leaves(name)? => "it leads out of the archive".to_owned(),
            Ok(_) => return Ok(()),
        };
        self.tree.remove(name)?;
        self.skip(name, &reason);
        Ok(())
    }

    fn skip(&mut self, name: &str, reason: &str) {
        self.done.left_out += 1;
        if self.done.skipped.len() < NAMED {
            self.done.skipped.push(format!("{name:?} was left out: {reason}"));
        }
    }
}

fn over(what: &'static str, count: u64, cap: u64) -> Result<(), ArchiveFault> {
    if count > cap { Err(ArchiveFault::Cap { what, cap }) } else { Ok(()) }
}

/// The paths in a `.gitmodules`.
fn submodules(text: &[u8]) -> Vec<String> {
    let path = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "path").then(|| value.trim().to_owned())
    };
    String::from_utf8_lossy(text).lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests;
