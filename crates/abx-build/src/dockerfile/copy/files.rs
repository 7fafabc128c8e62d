//! Files to copy: what a directory tree has, with what tells it from others.

use std::collections::HashMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use abx_dockerfile::{Ignore, Verdict};
use rustix::fs::Timespec;
use sha2::{Digest, Sha256};

use super::contents::{Contents, Stamp};
use crate::canvas::{Owner, attributes};
use crate::dockerfile::refusal::Refusal;
use crate::key::{Hasher, hex};
use crate::view::{View, names, step_into};

/// Where files are taken from.
pub(in crate::dockerfile) struct Root<'a> {
    pub(in crate::dockerfile) view: View,
    /// What of it does not count.
    pub(in crate::dockerfile) ignore: Option<&'a Ignore>,
    /// Whether it is the build context: its files come without owners and times.
    pub(in crate::dockerfile) is_context: bool,
    /// For people.
    pub(in crate::dockerfile) name: String,
}

/// One file, directory or link.
#[derive(Clone, Debug)]
pub(in crate::dockerfile) struct Item {
    /// Relative to what is copied; empty for that itself.
    pub(in crate::dockerfile) path: PathBuf,
    /// Where it lies.
    pub(in crate::dockerfile) host: PathBuf,
    pub(in crate::dockerfile) node: Node,
    pub(in crate::dockerfile) mode: u32,
    pub(in crate::dockerfile) owner: Owner,
    /// `None` for the one of all that is written by us.
    pub(in crate::dockerfile) time: Option<Timespec>,
    pub(in crate::dockerfile) xattrs: Vec<(String, Vec<u8>)>,
    /// What other names of the same file share, where it has others.
    pub(in crate::dockerfile) inode: Option<(u64, u64)>,
    /// What a file of the context is known by.
    pub(in crate::dockerfile) stamp: Option<Stamp>,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::dockerfile) enum Node {
    Directory,
    /// With the `sha256` of its content in hex, empty before [`digest`] has been called.
    File {
        digest: String,
    },
    /// What is written in the Dockerfile itself.
    Text {
        content: String,
    },
    Link {
        target: PathBuf,
    },
    Fifo,
}

/// What patterns say, on the way down a tree.
struct Sieve<'i> {
    ignore: Option<&'i Ignore>,
    verdict: Verdict,
}

impl Root<'_> {
    /// What lies at `path`, links followed, and all below it but what `exclude` leaves out; empty where nothing does or
    /// all is ignored. Without digests.
    pub(in crate::dockerfile) fn items(&self, path: &Path, exclude: &Ignore) -> Result<Vec<Item>, Refusal> {
        let unreadable = |source| Refusal::File { verb: "read", path: path.display().to_string(), source };
        let Some((found, directories)) = self.view.open(path).map_err(unreadable)? else {
            return Ok(Vec::new());
        };
        let inside = found.inside.strip_prefix("/").unwrap_or(&found.inside).to_owned();
        let ignored = self.verdict(&inside);
        let own = Sieve { ignore: self.ignore, verdict: ignored };
        let excluded = Sieve { ignore: Some(exclude), verdict: Verdict::default() };
        if !found.metadata.is_dir() {
            let name = path.file_name().unwrap_or_default();
            let is_out = own.verdict.is_ignored || excluded.below(Path::new(name)).verdict.is_ignored;
            let item = self.item(PathBuf::new(), found.host, &found.metadata).map_err(unreadable)?;
            return Ok(item.filter(|_| !is_out).into_iter().collect());
        }
        let Some(top) = self.item(PathBuf::new(), found.host, &found.metadata).map_err(unreadable)? else {
            return Ok(Vec::new());
        };
        let mut items = vec![top];
        self.walk(&directories, (&inside, &own), (Path::new(""), &excluded), &mut items)
            .map_err(unreadable)?;
        if own.verdict.is_ignored && items.len() == 1 {
            items.clear();
        }
        Ok(items)
    }

    /// Adds what a merged directory has: its path below the root with the verdict on it, and the same below what is
    /// copied.
    fn walk(
        &self,
        directories: &[PathBuf],
        (inside, own): (&Path, &Sieve<'_>),
        (path, excluded): (&Path, &Sieve<'_>),
        items: &mut Vec<Item>,
    ) -> io::Result<()> {
        for name in names(directories)? {
            let (inside, path) = (inside.join(&name), path.join(&name));
            let (own, excluded) = (own.below(&inside), excluded.below(&path));
            let Some((host, metadata, merged)) = step_into(directories, Path::new(&name))? else { continue };
            let is_out = own.verdict.is_ignored || excluded.verdict.is_ignored;
            if !metadata.is_dir() {
                if !is_out {
                    items.extend(self.item(path, host, &metadata)?);
                }
                continue;
            }
            if !own.may_keep_below(&inside) || !excluded.may_keep_below(&path) {
                continue;
            }
            let before = items.len();
            items.extend(self.item(path.clone(), host, &metadata)?);
            self.walk(&merged, (&inside, &own), (&path, &excluded), items)?;
            // A directory that is ignored appears where something in it is kept.
            if is_out && items.len() == before + 1 {
                items.truncate(before);
            }
        }
        Ok(())
    }

    /// `None` for what cannot be copied: sockets and devices.
    fn item(&self, path: PathBuf, host: PathBuf, metadata: &Metadata) -> io::Result<Option<Item>> {
        let kind = metadata.file_type();
        let node = if kind.is_dir() {
            Node::Directory
        } else if kind.is_symlink() {
            Node::Link { target: std::fs::read_link(&host)? }
        } else if kind.is_file() {
            Node::File { digest: String::new() }
        } else if kind.is_fifo() {
            Node::Fifo
        } else {
            return Ok(None);
        };
        let (mode, owner) = attributes(metadata);
        let is_shared = kind.is_file() && metadata.nlink() > 1;
        let time = Timespec { tv_sec: metadata.mtime(), tv_nsec: metadata.mtime_nsec() };
        Ok(Some(Item {
            xattrs: if self.is_context { Vec::new() } else { super::xattrs::read(&host)? },
            mode: if matches!(node, Node::Link { .. }) { 0o777 } else { mode },
            owner: if self.is_context { Owner::ROOT } else { owner },
            time: (!self.is_context).then_some(time),
            stamp: if self.is_context && kind.is_file() { Stamp::of(metadata) } else { None },
            inode: is_shared.then(|| (metadata.dev(), metadata.ino())),
            path,
            host,
            node,
        }))
    }

    /// What the ignore file says of a path.
    pub(in crate::dockerfile) fn verdict(&self, path: &Path) -> Verdict {
        let mut sieve = Sieve { ignore: self.ignore, verdict: Verdict::default() };
        let mut sofar = PathBuf::new();
        for part in path.components() {
            sofar.push(part);
            sieve = sieve.below(&sofar);
        }
        sieve.verdict
    }

    /// Whether the build sees something at `path`.
    pub(super) fn shows(&self, path: &Path) -> bool {
        let sieve = Sieve { ignore: self.ignore, verdict: self.verdict(path) };
        sieve.may_keep_below(path)
    }
}

impl<'i> Sieve<'i> {
    fn below(&self, path: &Path) -> Self {
        let verdict = match self.ignore {
            Some(ignore) if !ignore.is_empty() => ignore.below(&self.verdict, &path.to_string_lossy()),
            _ => Verdict::default(),
        };
        Self { ignore: self.ignore, verdict }
    }

    fn may_keep_below(&self, path: &Path) -> bool {
        self.ignore.is_none_or(|ignore| ignore.may_keep_below(&self.verdict, &path.to_string_lossy()))
    }
}

/// Takes the digest of every file that has none yet. What is not known is read, by several threads where it is much.
pub(in crate::dockerfile) fn digest(items: &mut [Item], contents: &Contents) -> Result<(), Refusal> {
    let mut unknown: Vec<&mut Item> = Vec::new();
    for item in items {
        let Node::File { digest } = &mut item.node else { continue };
        if let Some(known) = item.stamp.as_ref().and_then(|stamp| contents.find(stamp)) {
            *digest = known;
        } else if digest.is_empty() {
            unknown.push(item);
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = unknown.len().div_ceil(threads).max(LEAST);
    std::thread::scope(|scope| {
        let readers = unknown.chunks_mut(share).map(|share| scope.spawn(|| read_all(share, contents)));
        let readers: Vec<_> = readers.collect();
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// So many files are worth a thread.
const LEAST: usize = 64;

fn read_all(items: &mut [&mut Item], contents: &Contents) -> Result<(), Refusal> {
    for item in items {
        let Node::File { digest } = &mut item.node else { continue };
        let unreadable =
            |source| Refusal::File { verb: "read", path: item.host.display().to_string(), source };
        let mut hasher = Sha256::new();
        let mut file = std::fs::File::open(&item.host).map_err(unreadable)?;
        io::copy(&mut file, &mut hasher).map_err(unreadable)?;
        *digest = hex(&hasher.finalize());
        if let Some(stamp) = item.stamp {
            contents.add(stamp, digest);
        }
    }
    Ok(())
}

/// Adds to a key all of the items but their times.
pub(in crate::dockerfile) fn hash(items: &[Item], hasher: Hasher) -> Hasher {
    let counted = hasher.number(items.len() as u64);
    let mut names: HashMap<(u64, u64), &Path> = HashMap::new();
    items.iter().fold(counted, |hasher, item| {
        let owner = item.owner;
        let first = item.inode.map(|inode| *names.entry(inode).or_insert(&item.path));
        let hasher = match first.filter(|first| *first != item.path) {
            Some(first) => hasher.field("again").field(first.as_os_str().as_encoded_bytes()),
            None => hasher,
        };
        let hasher = hasher.field(item.path.as_os_str().as_encoded_bytes()).number(item.mode.into());
        let hasher = hasher.number(owner.uid.into()).number(owner.gid.into());
        let hasher = match &item.node {
            Node::Directory => hasher.field("directory"),
            Node::File { digest } => hasher.field("file").field(digest),
            Node::Text { content } => hasher.field("text").field(content),
            Node::Link { target } => hasher.field("link").field(target.as_os_str().as_encoded_bytes()),
            Node::Fifo => hasher.field("fifo"),
        };
        let counted = hasher.number(item.xattrs.len() as u64);
        item.xattrs.iter().fold(counted, |hasher, (name, value)| hasher.field(name).field(value))
    })
}
