//! The read-only layers.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::staging::clone_tree;
use crate::error::{Feature, IsolateError};
use crate::sys;

/// Layers opened, bottom first, as directories for an overlay.
pub(crate) struct Layers {
    /// What the directories are in, where they are not in the host's own mounts: must be attached somewhere
    /// before an overlay (of older kernels) takes them.
    pub(crate) trees: Vec<OwnedFd>,
    pub(crate) directories: Vec<Directory>,
}

/// One layer.
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) descriptor: OwnedFd,
}

/// Opens the layers as the host sees them.
///
/// Of one that lies there twice only the upper is taken: it says again all that the lower said, and the kernel refuses
/// to join a directory with itself. Images have such: two steps that changed the same files in the same way.
pub(crate) fn open(paths: &[PathBuf]) -> Result<Vec<Directory>, IsolateError> {
    let is_last = |(index, path): &(usize, &PathBuf)| !paths[index + 1..].contains(path);
    let last = paths.iter().enumerate().filter(is_last);
    last.map(|(_, path)| open_plain(path)).collect()
}

/// The same directories seen through the mapping of `idmap`, where given.
pub(crate) fn seen_through(
    plain: Vec<Directory>,
    idmap: Option<BorrowedFd<'_>>,
) -> Result<Layers, IsolateError> {
    let Some(userns) = idmap else {
        return Ok(Layers { trees: Vec::new(), directories: plain });
    };
    match through_one_tree(&plain, userns)? {
        Some(layers) => Ok(layers),
        None => through_own_trees(plain, userns),
    }
}

fn open_plain(path: &Path) -> Result<Directory, IsolateError> {
    let descriptor = openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| unusable(path, errno))?;
    Ok(Directory { path: path.to_owned(), descriptor })
}

/// Maps the ids of a single mount that begins at the directory all layers have in common; `None` where
/// they are not all in one mount. A store's layers are, so that fifty cost little more than one.
fn through_one_tree(plain: &[Directory], userns: BorrowedFd<'_>) -> Result<Option<Layers>, IsolateError> {
    let Some(common) = common_parent(plain) else { return Ok(None) };
    let tree = mapped_tree(common, userns)?;
    let mut directories = Vec::with_capacity(plain.len());
    for layer in plain {
        let relative = layer.path.strip_prefix(common).unwrap_or(&layer.path);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let Ok(descriptor) = openat(&tree, relative, flags, Mode::empty()) else { return Ok(None) };
        // Below another mount, or through a link, the same name may lead elsewhere.
        if !same(&descriptor, &layer.descriptor).map_err(|errno| unusable(&layer.path, errno))? {
            return Ok(None);
        }
        directories.push(Directory { path: layer.path.clone(), descriptor });
    }
    Ok(Some(Layers { trees: vec![tree], directories }))
}

fn common_parent(plain: &[Directory]) -> Option<&Path> {
    let first = &plain.first()?.path;
    first.ancestors().skip(1).find(|ancestor| plain.iter().all(|layer| layer.path.starts_with(ancestor)))
}

fn same(one: &OwnedFd, other: &OwnedFd) -> rustix::io::Result<bool> {
    let (one, other) = (fstat(one)?, fstat(other)?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

fn through_own_trees(plain: Vec<Directory>, userns: BorrowedFd<'_>) -> Result<Layers, IsolateError> {
    let mut layers = Layers { trees: Vec::new(), directories: Vec::new() };
    for layer in plain {
        let tree = mapped_tree(&layer.path, userns)?;
        let descriptor = tree
            .try_clone()
            .map_err(|source| IsolateError::Layer { path: layer.path.clone(), source: source.into() })?;
        layers.trees.push(tree);
        layers.directories.push(Directory { path: layer.path, descriptor });
    }
    Ok(layers)
}

fn mapped_tree(path: &Path, userns: BorrowedFd<'_>) -> Result<OwnedFd, IsolateError> {
    let tree = clone_tree(CWD, path, false).map_err(|errno| unusable(path, errno))?;
    let set = sys::MOUNT_ATTR_RDONLY;
    sys::mount_setattr(tree.as_fd(), set, Some(userns), false).map_err(|errno| match errno {
        // The file system, or the kernel, does not know them.
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => {
            IsolateError::Lacks { feature: Feature::IdmappedMounts, source: errno.into() }
        }
        errno => unusable(path, errno),
    })?;
    Ok(tree)
}

fn unusable(path: &Path, errno: Errno) -> IsolateError {
    IsolateError::Layer { path: path.to_owned(), source: errno.into() }
}
