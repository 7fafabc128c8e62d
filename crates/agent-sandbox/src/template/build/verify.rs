//! Whether a template comes to the same image twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use abx_image::{Image, ImageStore, LayerId, PackOptions};
use rustix::fs::{lgetxattr, llistxattr};
use walkdir::WalkDir;

use crate::{Context, Error};

/// So many paths of a layer are told.
const SHOWN: usize = 5;

/// Compares two images layer by layer, the times of files and what lies in the layers of both aside.
///
/// # Errors
/// E7010 where they differ, with the layers and the first paths; E4000 where a layer cannot be read.
pub(super) fn compare(context: &Context, template: &str, first: &Image, second: &Image) -> Result<(), Error> {
    let store = context.store();
    let epoch = context.source_date_epoch.unwrap_or(0);
    let mut differences = Vec::new();
    if first.layers.len() != second.layers.len() {
        differences.push(format!("{} layers, then {}", first.layers.len(), second.layers.len()));
    } else {
        for (one, other) in first.layers.iter().zip(&second.layers).filter(|(one, other)| one != other) {
            differences.extend(layers(&store, epoch, one, other)?);
        }
    }
    if first.config != second.config {
        differences.push("configuration: it is not the same".to_owned());
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::NotReproducible { template: template.to_owned(), differences })
}

/// What a layer is called, and the first paths that differ; nothing where its archive is the same.
fn layers(store: &ImageStore, epoch: i64, one: &LayerId, other: &LayerId) -> Result<Vec<String>, Error> {
    let options = PackOptions { clamp_mtime: Some(epoch) };
    let paths = [store.layer_path(one), store.layer_path(other)];
    let packed = |path: &Path| abx_image::pack(path, options, io::sink()).map(|packed| packed.diff_id);
    if packed(&paths[0])? == packed(&paths[1])? {
        return Ok(Vec::new());
    }
    let title = store.layer(one)?.map_or_else(|| one.0.clone(), |record| record.created_by);
    let trees = [tree(&paths[0])?, tree(&paths[1])?];
    let all: BTreeSet<&PathBuf> = trees[0].keys().chain(trees[1].keys()).collect();
    let mut differing = Vec::new();
    for path in all {
        let found = match difference(trees[0].get(path), trees[1].get(path)) {
            None if trees[0].get(path).is_some_and(Node::is_file) => {
                let is_same = is_same(&paths[0].join(path), &paths[1].join(path));
                let is_same = is_same.map_err(|source| Error::LayerUnreadable { source })?;
                (!is_same).then_some("other content")
            }
            found => found,
        };
        differing.extend(found.map(|what| format!("  /{}: {what}", path.display())));
    }
    let more = differing.len().saturating_sub(SHOWN);
    let mut lines = vec![title];
    lines.extend(differing.into_iter().take(SHOWN));
    lines.extend((more > 0).then(|| format!("  and {more} more")));
    Ok(lines)
}

/// What a path is, but for its times and what a file holds.
#[derive(PartialEq, Eq)]
struct Node {
    mode: u32,
    owner: (u32, u32),
    device: u64,
    size: u64,
    target: Vec<u8>,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Node {
    fn is_file(&self) -> bool {
        rustix::fs::FileType::from_raw_mode(self.mode) == rustix::fs::FileType::RegularFile
    }
}

fn difference(one: Option<&Node>, other: Option<&Node>) -> Option<&'static str> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (Some(_), None) => return Some("only the first time"),
        (None, _) => return Some("only the second time"),
    };
    if one == other {
        None
    } else if one.mode != other.mode || one.device != other.device {
        Some("another type or mode")
    } else if one.owner != other.owner {
        Some("another owner")
    } else if one.xattrs != other.xattrs {
        Some("other attributes")
    } else {
        Some("other content")
    }
}

fn tree(root: &Path) -> Result<BTreeMap<PathBuf, Node>, Error> {
    let mut tree = BTreeMap::new();
    for found in WalkDir::new(root).min_depth(1) {
        let found = found.map_err(|source| Error::LayerUnreadable { source: source.into() })?;
        let path = found.path();
        let node = node(path).map_err(|source| Error::LayerUnreadable { source })?;
        tree.insert(path.strip_prefix(root).unwrap_or(path).to_owned(), node);
    }
    Ok(tree)
}

fn node(path: &Path) -> io::Result<Node> {
    let metadata = path.symlink_metadata()?;
    let target =
        if metadata.is_symlink() { path.read_link()?.as_os_str().as_bytes().to_vec() } else { Vec::new() };
    let is_file = metadata.is_file();
    Ok(Node {
        mode: metadata.mode(),
        owner: (metadata.uid(), metadata.gid()),
        device: metadata.rdev(),
        size: if is_file { metadata.len() } else { 0 },
        target,
        xattrs: xattrs(path)?,
    })
}

/// Whether two files of one size hold the same.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let count = one.read(&mut left)?;
        if count == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..count])?;
        if left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

fn xattrs(path: &Path) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut names = vec![0; 1 << 16];
    let length = llistxattr(path, &mut names)?;
    let mut found = BTreeMap::new();
    // What the mounted file system notes for itself says nothing of the image; that a folder hides another one does.
    let is_own = |name: &[u8]| name.starts_with(b"trusted.overlay.") && name != b"trusted.overlay.opaque";
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty() && !is_own(name)) {
        let mut value = vec![0; 1 << 16];
        let length = lgetxattr(path, std::ffi::OsStr::from_bytes(name), &mut value[..])?;
        value.truncate(length);
        found.insert(name.to_vec(), value);
    }
    Ok(found)
}
