//! Unpacked layers.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use abx_core::fs::{Lock, Staging};
use serde::{Deserialize, Serialize};

use super::durable::Stamp;
use super::{ImageStore, read_optional};
use crate::digest::well_formed;
use crate::{ImageError, LayerId};

/// What is known of a layer besides its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    /// What made it, for people: a command, a registry name.
    pub created_by: String,
    /// Seconds since 1970.
    pub created: u64,
}

/// A record on disk.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    record: LayerRecord,
    #[serde(flatten)]
    stamp: Stamp,
}

impl LayerRecord {
    /// A record of now.
    pub fn new(created_by: impl Into<String>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { created_by: created_by.into(), created: now.as_secs() }
    }
}

impl ImageStore {
    /// Where the files of a layer lie, whether it is there or not.
    pub fn layer_path(&self, id: &LayerId) -> PathBuf {
        self.layers().join(&id.0).join("fs")
    }

    /// Whether the layer is there, whole.
    pub fn has_layer(&self, id: &LayerId) -> bool {
        matches!(self.layer(id), Ok(Some(_)))
    }

    /// The record of a layer; `None` where it is not there, or a power cut may have taken some of it.
    pub fn layer(&self, id: &LayerId) -> Result<Option<LayerRecord>, ImageError> {
        if !well_formed(&id.0) {
            return Ok(None);
        }
        let entry = self.layers().join(&id.0);
        self.record(&entry).map_err(ImageError::store("read", &entry))
    }

    /// The record of an entry that counts.
    pub(super) fn record(&self, entry: &Path) -> std::io::Result<Option<LayerRecord>> {
        let bytes = read_optional(&entry.join("layer.json"))?;
        let stored = bytes.and_then(|bytes| serde_json::from_slice::<Stored>(&bytes).ok());
        Ok(stored.filter(|stored| self.boots().vouch_for(&stored.stamp)).map(|stored| stored.record))
    }

    /// Starts a layer: an empty directory beside its future place. Dropping it removes everything.
    pub fn begin_layer(&self) -> Result<StagedLayer, ImageError> {
        let parent = self.staging();
        let staging = Staging::new(&parent).map_err(ImageError::store("make", &parent))?;
        let staged = StagedLayer { store: self.clone(), staging };
        for directory in [staged.entry(), staged.fs(), staged.work()] {
            make_directory(&directory).map_err(ImageError::store("make", &directory))?;
        }
        Ok(staged)
    }

    /// Waits until no other process or thread works on this layer. Ask [`ImageStore::has_layer`] again
    /// afterwards: whoever held it has probably made it. Blocks: not for an async thread.
    pub fn lock_layer(&self, id: &LayerId) -> Result<Lock, ImageError> {
        let path = self.layer_lock(id)?;
        Lock::exclusive(&path).map_err(ImageError::store("lock", &path))
    }

    /// [`ImageStore::lock_layer`] without waiting; `None` where another holds it.
    pub fn try_lock_layer(&self, id: &LayerId) -> Result<Option<Lock>, ImageError> {
        let path = self.layer_lock(id)?;
        Lock::try_exclusive(&path).map_err(ImageError::store("lock", &path))
    }

    fn layer_lock(&self, id: &LayerId) -> Result<PathBuf, ImageError> {
        check(id)?;
        Ok(self.lock_path("layer", &id.0))
    }
}

/// A layer in the making.
#[derive(Debug)]
pub struct StagedLayer {
    store: ImageStore,
    staging: Staging,
}

impl StagedLayer {
    /// The directory to fill (mode 0755): what it holds becomes the layer. Fit for an overlay's `upperdir`.
    pub fn fs(&self) -> PathBuf {
        self.entry().join("fs")
    }

    /// An empty directory beside it on the same file system, fit for an overlay's `workdir`. Thrown away.
    pub fn work(&self) -> PathBuf {
        self.staging.path().join("work")
    }

    fn entry(&self) -> PathBuf {
        self.staging.path().join("layer")
    }

    /// Puts the layer into its place under `id`. Where another process was faster, its layer stays and this
    /// one is dropped: an id means the same content.
    pub fn publish(self, id: LayerId, record: &LayerRecord) -> Result<LayerId, ImageError> {
        check(&id)?;
        let target = self.store.layers().join(&id.0);
        let record_path = self.entry().join("layer.json");
        let stored = Stored { record: record.clone(), stamp: self.store.boots().stamp() };
        let bytes = serde_json::to_vec(&stored).expect("a record is plain data");
        std::fs::write(&record_path, bytes).map_err(ImageError::store("write", &record_path))?;
        self.retire(&target).map_err(ImageError::store("replace", &target))?;
        self.staging.publish("layer", &target).map_err(ImageError::store("publish", &target))?;
        self.store.shared.is_dirty.store(true, Ordering::Relaxed);
        Ok(id)
    }

    /// Moves an entry that does not count (its removal was cut short, or the power was cut before it was on
    /// disk) out of the way, into our staging.
    fn retire(&self, target: &Path) -> std::io::Result<()> {
        if !target.exists() || self.store.record(target)?.is_some() {
            return Ok(());
        }
        match std::fs::rename(target, self.staging.path().join("half")) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

fn check(id: &LayerId) -> Result<(), ImageError> {
    match well_formed(&id.0) {
        true => Ok(()),
        false => Err(ImageError::MalformedId { id: id.0.clone() }),
    }
}

/// A directory of mode 0755 whatever the umask.
fn make_directory(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}
