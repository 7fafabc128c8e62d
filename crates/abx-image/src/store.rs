//! Layers, images and name tags on disk, below `store/` of [`Home`].
//!
//! ```text
//! layers/<id>/fs/          an unpacked layer
//! layers/<id>/layer.json   its record; without it the entry does not count
//! layers/<id>/size         its bytes, once somebody has asked
//! layers/<id>/blobs.json   what it is in registries
//! synced                   which records of earlier boots count
//! images/<id>.json         an image: layers, configuration, origin
//! names/<name>/<tag>       an image id
//! pulled/<name>.json       what a name in a registry stood for
//! partial/<digest>         the beginning of a blob whose transfer was cut short
//! staging/<pid>-<random>/  an entry being made, locked by its maker
//! locks/layer-<id>.lock    single flight on one layer
//! ```
//!
//! Every entry is made beside its place and renamed into it whole, record included, so a process killed at
//! any point leaves nothing that looks complete; see `durable` for power cuts. Opening reads nothing.

mod blobs;
mod durable;
mod images;
mod inventory;
mod layers;
mod names;
mod size;
mod sweep;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use abx_core::Home;

use crate::PackOptions;

pub(crate) use blobs::KnownBlob;
pub use durable::{SYNC_HELPER, run_sync};
pub use inventory::{StoredImage, StoredLayer};
pub use layers::{LayerRecord, StagedLayer};
pub use names::Tag;
pub(crate) use names::escape;
pub use sweep::Swept;

/// The store of one home. Cheap to open and to clone; safe to use from several processes at once.
#[derive(Clone, Debug)]
pub struct ImageStore {
    home: Home,
    shared: Arc<Shared>,
    epoch: Option<i64>,
}

/// What the clones of a store have in common.
#[derive(Debug, Default)]
struct Shared {
    boots: OnceLock<durable::Boots>,
    /// Whether something was published that is not being synced yet.
    is_dirty: AtomicBool,
}

impl ImageStore {
    /// The store of `home`, which need not exist yet. Touches nothing.
    pub fn open(home: &Home) -> Self {
        Self { home: home.clone(), shared: Arc::default(), epoch: None }
    }

    /// The same store, which packs no layer with a file newer than `epoch`, in seconds since 1970, and says of no image
    /// that it was made later: what leaves it is the same whenever it was built.
    pub fn at_epoch(self, epoch: Option<i64>) -> Self {
        Self { epoch, ..self }
    }

    /// How layers are packed.
    pub(crate) fn pack_options(&self) -> PackOptions {
        PackOptions { clamp_mtime: self.epoch }
    }

    /// A time nothing is said to be made after, in seconds since 1970.
    pub(crate) fn no_later(&self, time: u64) -> u64 {
        let epoch = self.epoch.and_then(|epoch| u64::try_from(epoch).ok());
        epoch.map_or(time, |epoch| time.min(epoch))
    }

    /// The home it belongs to.
    pub fn home(&self) -> &Home {
        &self.home
    }

    fn layers(&self) -> PathBuf {
        self.home.store("layers")
    }

    fn staging(&self) -> PathBuf {
        self.home.store("staging")
    }

    fn lock_path(&self, kind: &str, key: &str) -> PathBuf {
        self.home.store("locks").join(format!("{kind}-{key}.lock"))
    }
}

/// Reads a file that may be absent.
pub(crate) fn read_optional(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
