//! Layers and a writable directory joined.

use std::ffi::CString;
use std::fmt::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, fsconfig_create, fsconfig_set_fd,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount as mount_by_string,
};

use super::disk::Writable;
use super::layers::Layers;
use super::staging::{self, Staging, clone_tree};
use crate::error::{Feature, IsolateError, mounting};

/// Upper directories become layers, so nothing may be in them that only this overlay understands.
const PLAIN: [(&str, &str); 3] = [("redirect_dir", "nofollow"), ("metacopy", "off"), ("index", "off")];

const NAME: &str = "root";

/// Mounts the overlay at `root` in the staging tree and returns it. No device node in it works: those
/// in layers are anybody's.
pub(crate) fn mount(staging: &Staging, layers: Layers, writable: Writable) -> Result<OwnedFd, IsolateError> {
    keep(staging, &layers, &writable).map_err(mounting("layers"))?;
    match by_descriptors(&layers, &writable)? {
        Some(overlay) => {
            staging.keep(&overlay, NAME).map_err(mounting("the root"))?;
            Ok(overlay)
        }
        None => by_paths(staging, &layers, &writable),
    }
}

/// Attaches what is detached: kernels before 6.15 join attached mounts only, and the end of an attached tree
/// costs nothing extra while the end of each detached one waits for a grace period.
fn keep(staging: &Staging, layers: &Layers, writable: &Writable) -> rustix::io::Result<()> {
    for (index, tree) in layers.trees.iter().enumerate() {
        staging.keep(tree, &format!("layers{index}"))?;
    }
    match &writable.tree {
        Some(tree) => staging.keep(tree, "disk"),
        None => Ok(()),
    }
}

/// Hands each directory over by descriptor, so that neither the number of layers nor the length of paths
/// matters. `None` where the kernel (before 6.13) does not take them so.
fn by_descriptors(layers: &Layers, writable: &Writable) -> Result<Option<OwnedFd>, IsolateError> {
    let context = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).map_err(lacks_overlay)?;
    match configure(&context, layers, writable) {
        Err(Errno::INVAL | Errno::BADF) => return Ok(None),
        result => result.map_err(|errno| failed(&context, errno))?,
    }
    fsconfig_create(&context).map_err(|errno| failed(&context, errno))?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_NODEV)
        .map(Some)
        .map_err(|errno| failed(&context, errno))
}

fn configure(context: &OwnedFd, layers: &Layers, writable: &Writable) -> rustix::io::Result<()> {
    fsconfig_set_string(context, "source", "overlay")?;
    for layer in layers.directories.iter().rev() {
        fsconfig_set_fd(context, "lowerdir+", layer.descriptor.as_fd())?;
    }
    fsconfig_set_fd(context, "upperdir", writable.upper.as_fd())?;
    fsconfig_set_fd(context, "workdir", writable.work.as_fd())?;
    for (key, value) in PLAIN {
        fsconfig_set_string(context, key, value)?;
    }
    if writable.volatile {
        fsconfig_set_flag(context, "volatile")?;
    }
    Ok(())
}

/// The classic option string, at most a page long: every layer is attached in the staging tree under
/// a short name, and the writable directories are named relative to their common parent.
fn by_paths(staging: &Staging, layers: &Layers, writable: &Writable) -> Result<OwnedFd, IsolateError> {
    let failed = |errno: Errno| IsolateError::Overlay { message: String::new(), source: errno.into() };
    let mut options = String::from("lowerdir=");
    for (index, layer) in layers.directories.iter().enumerate().rev() {
        let name = format!("l{index}");
        let tree = clone_tree(&layer.descriptor, "", false).map_err(failed)?;
        staging.keep(&tree, &name).map_err(failed)?;
        let separator = if index == 0 { "" } else { ":" };
        let _ = write!(options, "{}/{name}{separator}", staging::PATH);
    }
    let (upper, work) = writable_paths(staging, writable).map_err(failed)?;
    let _ = write!(options, ",upperdir={},workdir={}", upper.display(), work.display());
    for (key, value) in PLAIN {
        let _ = write!(options, ",{key}={value}");
    }
    if writable.volatile {
        options.push_str(",volatile");
    }
    staging.directory(NAME).map_err(failed)?;
    let target = format!("{}/{NAME}", staging::PATH);
    let options = CString::new(options).map_err(|_| failed(Errno::INVAL))?;
    mount_by_string("overlay", &target, "overlay", MountFlags::NODEV, options.as_c_str()).map_err(failed)?;
    openat(CWD, target, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(failed)
}

/// Paths of the upper and the work directory, which must be seen through the same mount.
fn writable_paths(staging: &Staging, writable: &Writable) -> rustix::io::Result<(PathBuf, PathBuf)> {
    let (upper, work) = &writable.paths;
    if writable.tree.is_some() {
        let disk = Path::new(staging::PATH).join("disk");
        return Ok((disk.join(upper), disk.join(work)));
    }
    let common = upper.ancestors().find(|ancestor| work.starts_with(ancestor)).unwrap_or(Path::new("/"));
    staging.keep(&clone_tree(CWD, common, false)?, "writable")?;
    let short = |path: &Path| {
        Path::new(staging::PATH).join("writable").join(path.strip_prefix(common).unwrap_or(path))
    };
    Ok((short(upper), short(work)))
}

fn lacks_overlay(errno: Errno) -> IsolateError {
    IsolateError::Lacks { feature: Feature::Overlay, source: errno.into() }
}

/// The kernel writes the reason into the context: `e overlay: workdir and upperdir must reside under the same mount`.
fn failed(context: &OwnedFd, errno: Errno) -> IsolateError {
    let mut buffer = [0u8; 512];
    let length = rustix::io::read(context, &mut buffer).unwrap_or(0);
    let text = String::from_utf8_lossy(&buffer[..length]);
    let message = text.trim().trim_start_matches("e ").to_owned();
    IsolateError::Overlay { message, source: errno.into() }
}
