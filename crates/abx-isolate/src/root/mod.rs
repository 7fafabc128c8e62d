//! The root file system, built in a private mount namespace by the host's root and then entered.
//!
//! Reading order: [`staging`] is where mounts are put together, [`layers`] opens what is read-only,
//! [`disk`] what is writable, [`overlay`] joins them, [`mod@system`] adds /proc, /sys, /dev and /run,
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

pub(crate) use disk::prepare as prepare_disk;
pub use disk::{disk_in_use, open_disk};
use inside::Inside;
pub(crate) use staging::clone_tree;

use crate::error::{IsolateError, mounting, system};
use crate::launch::{Ids, Launch};
use layers::Directory;
use staging::Staging;
use system::{Furniture, Masks};

/// What of a root needs nothing but the host's paths, made in a mount namespace of its own.
pub(crate) struct Ground {
    staging: Staging,
    sources: Vec<OwnedFd>,
    layers: Vec<Directory>,
    furniture: Furniture,
}

/// A root that is complete but for /sys, and not entered yet.
pub(crate) struct Built {
    overlay: OwnedFd,
    masks: Masks,
    ids: Ids,
}

impl Ground {
    pub(crate) fn make(launch: &Launch) -> Result<Self, IsolateError> {
        staging::make_private()?;
        let sources = extras::open_sources(&launch.binds)?;
        let layers = layers::open(&launch.root.layers)?;
        let staging = Staging::new()?;
        let furniture = Furniture::make(&staging, launch)?;
        Ok(Self { staging, sources, layers, furniture })
    }

    /// Builds the root on `disk`, where the launch has one; the calling process is still outside.
    pub(crate) fn build(
        self,
        launch: &Launch,
        userns: BorrowedFd<'_>,
        disk: Option<OwnedFd>,
    ) -> Result<Built, IsolateError> {
        let Self { staging, sources, layers, furniture } = self;
        let writable = disk::open(&launch.root.upper, launch.ids, disk)?;
        let layers = layers::seen_through(layers, idmap(launch.ids, userns))?;
        let overlay = overlay::mount(&staging, layers, writable)?;
        let inside = Inside::new(overlay.as_fd(), launch.ids);
        furniture.place(&inside)?;
        extras::lay_down(&staging, &inside, launch, sources)?;
        Ok(Built { overlay, masks: furniture.masks, ids: launch.ids })
    }
}

/// Layers keep the image's ids on disk, so they are seen through the mapping where it is not the identity.
fn idmap(ids: Ids, userns: BorrowedFd<'_>) -> Option<BorrowedFd<'_>> {
    matches!(ids, Ids::Range { .. }).then_some(userns)
}

impl Built {
    /// Mounts /sys, which shows the network (and, where they are `unified`, the groups) the caller is in by now,
    /// makes the root the calling process's, and lets go of the host's.
    pub(crate) fn enter(self, unified: bool) -> Result<(), IsolateError> {
        let inside = Inside::new(self.overlay.as_fd(), self.ids);
        system::mount_sys(&inside, &self.masks, unified).map_err(mounting("/sys"))?;
        rustix::process::fchdir(&self.overlay).map_err(system("enter the root"))?;
        // The old root ends up on top of the new one, and is taken off again.
        pivot_root(".", ".").map_err(system("change the root"))?;
        unmount(".", UnmountFlags::DETACH).map_err(system("let go of the host's root"))
    }
}
