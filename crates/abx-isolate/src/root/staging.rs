//! Where mounts are put together before the root is entered.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
};
use rustix::path::Arg;

use crate::error::{IsolateError, mounting, system};

/// A tmpfs over the host's /proc, in the sandbox's mount namespace alone: a mount point every host has
/// and no source lies beneath. It goes away with the rest of the host's tree.
pub(crate) struct Staging {
    pub(crate) tree: OwnedFd,
}

pub(crate) const PATH: &str = "/proc";

impl Staging {
    pub(crate) fn new() -> Result<Self, IsolateError> {
        let tree =
            new_mount("tmpfs", &[("mode", "0755")], MountAttrFlags::empty()).map_err(mounting("staging"))?;
        attach(&tree, CWD, PATH).map_err(mounting("staging"))?;
        Ok(Self { tree })
    }

    /// Attaches a detached tree as `name`, which is made.
    pub(crate) fn keep(&self, tree: &OwnedFd, name: &str) -> rustix::io::Result<()> {
        self.directory(name)?;
        attach(tree, &self.tree, name)
    }

    pub(crate) fn directory(&self, name: &str) -> rustix::io::Result<()> {
        mkdirat(&self.tree, name, Mode::from_raw_mode(0o755))
    }

    pub(crate) fn open(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        openat(&self.tree, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    }
}

/// Keeps what is mounted here from showing on the host, and the other way round.
pub(crate) fn make_private() -> Result<(), IsolateError> {
    let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", flags).map_err(system("make the mount namespace private"))
}

/// A detached mount of a new file system.
pub(crate) fn new_mount(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    if !options.iter().any(|(key, _)| *key == "source") {
        // What `df` and `mount` show.
        fsconfig_set_string(&context, "source", kind)?;
    }
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value)?;
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// A detached copy of the mount at `path`, beginning there; with `recursive` also of the mounts below.
pub(crate) fn clone_tree(
    directory: impl AsFd,
    path: impl Arg,
    recursive: bool,
) -> rustix::io::Result<OwnedFd> {
    let mut flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    flags.set(OpenTreeFlags::AT_RECURSIVE, recursive);
    open_tree(directory, path, flags)
}

/// Attaches a detached tree.
pub(crate) fn attach(tree: &OwnedFd, directory: impl AsFd, path: impl Arg) -> rustix::io::Result<()> {
    move_mount(tree, "", directory, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Attaches a detached tree over what `target` refers to.
pub(crate) fn attach_over(tree: &OwnedFd, target: impl AsFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", target, "", flags)
}
