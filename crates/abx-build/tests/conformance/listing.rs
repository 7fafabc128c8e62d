//! Layers → a line for each path in which they differ from the layers below.
//!
//! ```text
//! 755 0:0 /d/
//! 644 0:0 /d/f = "hello\n"
//! 777 0:0 /d/l -> f
//! 644 0:0 /d/h == /d/f            another name of the same file
//! 644 0:0 /etc/passwd += "x\n"    what a file of the layers below has got at its end
//! gone /etc/group
//! ```
//!
//! This is an implementation of its own on purpose: it must not be wrong where the code under test is. Times are left out.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Content up to this many bytes is shown, if it is text.
const SHOWN: usize = 120;

/// What a stack of layers shows: paths without a leading slash, and the file that is there.
pub(crate) type Tree = BTreeMap<PathBuf, PathBuf>;

/// The merged tree of `layers`, bottom first.
pub(crate) fn tree(layers: &[PathBuf]) -> Tree {
    let mut tree = Tree::new();
    for layer in layers {
        add(layer, Path::new(""), &mut tree);
    }
    tree
}

/// Lays what one directory of a layer has over what is there.
fn add(layer: &Path, below: &Path, tree: &mut Tree) {
    let entries = std::fs::read_dir(layer.join(below)).expect("read a layer");
    for entry in entries.map(|entry| entry.expect("entry")) {
        let path = below.join(entry.file_name());
        let host = entry.path();
        let metadata = host.symlink_metadata().expect("metadata");
        if is_whiteout(&metadata) {
            forget(tree, &path);
            tree.remove(&path);
            continue;
        }
        let was_directory =
            tree.get(&path).is_some_and(|host| host.symlink_metadata().is_ok_and(|old| old.is_dir()));
        if !metadata.is_dir() || !was_directory || is_opaque(&host) {
            forget(tree, &path);
        }
        tree.insert(path.clone(), host);
        if metadata.is_dir() {
            add(layer, &path, tree);
        }
    }
}

/// Removes all below a path.
fn forget(tree: &mut Tree, path: &Path) {
    let below: Vec<PathBuf> = tree
        .range(path.to_owned()..)
        .take_while(|(other, _)| other.starts_with(path))
        .filter(|(other, _)| *other != path)
        .map(|(other, _)| other.clone())
        .collect();
    for path in below {
        tree.remove(&path);
    }
}

fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

fn is_opaque(host: &Path) -> bool {
    let mut value = [0_u8; 1];
    rustix::fs::lgetxattr(host, "trusted.overlay.opaque", &mut value)
        .is_ok_and(|length| value[..length] == *b"y")
}

/// The lines for all in which `tree` differs from `base`.
pub(crate) fn lines(base: &Tree, tree: &Tree) -> Vec<String> {
    let mut names: BTreeMap<(u64, u64), PathBuf> = BTreeMap::new();
    let mut lines = Vec::new();
    for (path, host) in tree {
        if base.get(path) == Some(host) {
            continue;
        }
        let below = base.get(path).map(PathBuf::as_path);
        let line = line(path, host, below, &mut names);
        // A directory that was copied up as it is says nothing.
        let is_same = below.is_some_and(|below| {
            below.is_dir() && line == self::line(path, below, None, &mut BTreeMap::new())
        });
        if !is_same {
            lines.push(line);
        }
    }
    let gone = base.keys().filter(|path| !tree.contains_key(*path));
    // What was below goes with it.
    let topmost = gone.filter(|path| {
        path.parent().is_none_or(|parent| parent == Path::new("") || tree.contains_key(parent))
    });
    lines.extend(topmost.map(|path| format!("gone /{}", path.display())));
    lines
}

fn line(path: &Path, host: &Path, below: Option<&Path>, names: &mut BTreeMap<(u64, u64), PathBuf>) -> String {
    let metadata = host.symlink_metadata().expect("metadata");
    let kind = metadata.file_type();
    let what = if kind.is_dir() {
        "/".to_owned()
    } else if kind.is_symlink() {
        format!(" -> {}", std::fs::read_link(host).expect("link").display())
    } else if kind.is_fifo() {
        " (fifo)".to_owned()
    } else if !kind.is_file() {
        format!(" (device {:x})", metadata.rdev())
    } else {
        let inode = (metadata.dev(), metadata.ino());
        match names.get(&inode).filter(|_| metadata.nlink() > 1) {
            Some(first) => format!(" == /{}", first.display()),
            None => {
                names.insert(inode, path.to_owned());
                content(host, below)
            }
        }
    };
    let (mode, uid, gid) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
    let attributes = attributes(host);
    format!("{mode:o} {uid}:{gid} /{}{what}{attributes}", path.to_string_lossy().escape_debug())
}

fn content(host: &Path, below: Option<&Path>) -> String {
    let bytes = std::fs::read(host).expect("read");
    let old = below.filter(|below| below.is_file()).and_then(|below| std::fs::read(below).ok());
    match old.as_deref().and_then(|old| bytes.strip_prefix(old)) {
        Some(rest) => format!(" += {}", shown(rest)),
        None => format!(" = {}", shown(&bytes)),
    }
}

fn shown(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= SHOWN => format!("{text:?}"),
        _ => format!("{} bytes sha256:{}", bytes.len(), hex(&Sha256::digest(bytes)[..8])),
    }
}

/// Extended attributes that belong to the file.
fn attributes(host: &Path) -> String {
    let mut list = vec![0_u8; 64 * 1024];
    let length = rustix::fs::llistxattr(host, &mut list).unwrap_or(0);
    let names = list[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let mut found = Vec::new();
    for name in names.filter(|name| !name.starts_with(b"trusted.")) {
        let name = std::ffi::OsStr::from_bytes(name);
        let mut value = vec![0_u8; 64 * 1024];
        let length = rustix::fs::lgetxattr(host, name, &mut value).expect("attribute");
        found.push(format!(" {}={}", name.display(), hex(&value[..length])));
    }
    found.sort();
    found.concat()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
