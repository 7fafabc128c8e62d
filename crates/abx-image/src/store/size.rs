//! What entries occupy.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;

use abx_core::fs::write_atomic;

use super::ImageStore;
use crate::{Image, ImageError, LayerId};

/// Beside `layer.json`: the bytes of a layer, once somebody has asked. A layer does not change.
const SIZE: &str = "size";

impl ImageStore {
    /// The bytes an image occupies on disk, each of its layers once.
    pub fn image_size(&self, image: &Image) -> Result<u64, ImageError> {
        self.layers_size(&image.layers)
    }

    /// The bytes of several layers, each once. They are walked the first time only.
    pub fn layers_size(&self, layers: &[LayerId]) -> Result<u64, ImageError> {
        let distinct: HashSet<&LayerId> = layers.iter().collect();
        distinct.into_iter().map(|layer| self.known_size(layer)).sum()
    }

    fn known_size(&self, id: &LayerId) -> Result<u64, ImageError> {
        let path = self.layers().join(&id.0).join(SIZE);
        if let Some(size) = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()) {
            return Ok(size);
        }
        let size = self.layer_size(id)?;
        // Whoever may not write here measures again.
        if path.parent().is_some_and(std::path::Path::is_dir) {
            let _ = write_atomic(&path, size.to_string().as_bytes());
        }
        Ok(size)
    }

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
