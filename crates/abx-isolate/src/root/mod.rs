//! The root file system, built in a private mount namespace by the host's root and then entered.
//!
//! Reading order: [`staging`] is where mounts are put together, [`layers`] opens what is read-only,
//! [`disk`] what is writable, [`overlay`] joins them, [`system`] adds /proc, /sys, /dev and /run,
//! [`inside`] resolves paths without leaving the root, [`extras`] lays down binds and run-time files.

mod disk;
mod extras;
mod inside;
mod layers;
mod overlay;
mod staging;
mod system;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::pivot_root;

pub(crate) use inside::Inside;
pub(crate) use staging::clone_tree;

use crate::error::{IsolateError, system};
use crate::launch::{Ids, Launch};
use staging::Staging;

/// Builds the root described and returns it; the calling process is still outside, in a mount namespace
/// of its own.
pub(crate) fn build(launch: &Launch, userns: BorrowedFd<'_>) -> Result<OwnedFd, IsolateError> {
    staging::make_private()?;
    let sources = extras::open_sources(&launch.binds)?;
    let layers = layers::open(&launch.root.layers, idmap(launch.ids, userns))?;
    let upper = disk::open(&launch.root.upper, launch.ids)?;
    let staging = Staging::new()?;
    let root = overlay::mount(&staging, layers, upper)?;
    let inside = Inside::new(root.as_fd(), launch.ids);
    system::mount(&staging, &inside, launch)?;
    extras::lay_down(&staging, &inside, launch, sources)?;
    Ok(root)
}

/// Layers keep the image's ids on disk, so they are seen through the mapping where it is not the identity.
fn idmap(ids: Ids, userns: BorrowedFd<'_>) -> Option<BorrowedFd<'_>> {
    matches!(ids, Ids::Range { .. }).then_some(userns)
}

/// Makes `root` the calling process's root and lets go of the host's.
pub(crate) fn enter(root: &OwnedFd) -> Result<(), IsolateError> {
    rustix::process::fchdir(root).map_err(system("enter the root"))?;
    // The old root ends up on top of the new one, and is taken off again.
    pivot_root(".", ".").map_err(system("change the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(system("let go of the host's root"))
}
