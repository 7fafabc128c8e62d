//! Files of a package that go into an image, with what identifies them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::key::Hasher;

/// Files below one root, in the order of their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    entries: Vec<Entry>,
}

/// One file, link or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the root of the tree; empty for the root itself where that is a single file.
    pub path: PathBuf,
    pub node: Node,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    Directory,
    File {
        executable: bool,
        /// `sha256` of the content, in hex.
        digest: String,
        content: Content,
    },
    Link {
        target: PathBuf,
    },
}

/// Where the bytes of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// In a file of the host.
    Disk(PathBuf),
    /// Here: a file of a template that is built into the program.
    Memory(Arc<[u8]>),
}

impl Tree {
    /// A tree of these entries.
    pub fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        Self { entries }
    }

    /// The entries, a directory before what is in it.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it is one file, not a directory of files.
    pub fn is_single(&self) -> bool {
        matches!(&self.entries[..], [entry] if entry.path == Path::new(""))
    }

    /// Drops repeated paths.
    pub(crate) fn deduplicate(&mut self) {
        self.entries.dedup_by(|one, other| one.path == other.path);
    }

    /// Adds paths, kinds, modes and contents to a key.
    pub(crate) fn hash(&self, hasher: Hasher) -> Hasher {
        let counted = hasher.number(self.entries.len() as u64);
        self.entries.iter().fold(counted, |hasher, entry| {
            let hasher = hasher.field(entry.path.as_os_str().as_encoded_bytes());
            match &entry.node {
                Node::Directory => hasher.field("directory"),
                Node::File { executable, digest, .. } => {
                    hasher.field(if *executable { "executable" } else { "file" }).field(digest)
                }
                Node::Link { target } => hasher.field("link").field(target.as_os_str().as_encoded_bytes()),
            }
        })
    }
}
