//! What entries occupy.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;

use super::ImageStore;
use crate::{ImageError, LayerId};

impl ImageStore {
    /// The bytes a layer occupies on disk; a file with several names counts once. Walks the layer.
    pub fn layer_size(&self, id: &LayerId) -> Result<u64, ImageError> {
        let root = self.layer_path(id);
        let mut seen = HashSet::new();
        let mut bytes = 0;
        for entry in walkdir::WalkDir::new(&root) {
            let metadata = entry
                .and_then(|entry| entry.metadata())
                .map_err(|error| ImageError::store("measure", &root)(error.into()))?;
            if metadata.nlink() == 1 || metadata.is_dir() || seen.insert(metadata.ino()) {
                bytes += metadata.blocks() * 512;
            }
        }
        Ok(bytes)
    }
}
