//! Images: layers and configuration under one digest.

use abx_core::fs::write_atomic;

use super::{ImageStore, read_optional};
use crate::digest::well_formed;
use crate::{Digest, Image, ImageConfig, ImageError, ImageId, LayerId, Origin};

impl ImageStore {
    /// Records an image of layers that are all in the store. Its id follows from layers and configuration;
    /// the origin is kept beside them, the last one recorded.
    pub fn put_image(
        &self,
        layers: Vec<LayerId>,
        config: ImageConfig,
        origin: Origin,
    ) -> Result<Image, ImageError> {
        if let Some(missing) = layers.iter().find(|layer| !self.has_layer(layer)) {
            return Err(ImageError::NoLayer { id: missing.0.clone() });
        }
        let image = Image { id: image_id(&layers, &config), layers, config, origin };
        let path = self.image_path(&image.id);
        let bytes = serde_json::to_vec(&image).expect("an image is plain data");
        write_atomic(&path, &bytes).map_err(ImageError::store("write", &path))?;
        Ok(image)
    }

    /// The image of that id; `None` where it, or a layer of it, is not there (or its record is damaged), so
    /// that it has to be made again.
    pub fn image(&self, id: &ImageId) -> Result<Option<Image>, ImageError> {
        if !well_formed(&id.0) {
            return Ok(None);
        }
        let path = self.image_path(id);
        let bytes = read_optional(&path).map_err(ImageError::store("read", &path))?;
        let image = bytes.and_then(|bytes| serde_json::from_slice::<Image>(&bytes).ok());
        Ok(image.filter(|image| image.id == *id && image.layers.iter().all(|layer| self.has_layer(layer))))
    }

    pub(super) fn image_path(&self, id: &ImageId) -> std::path::PathBuf {
        self.home().store("images").join(format!("{}.json", id.0))
    }
}

/// The digest over canonical JSON: fields in the order of the types, no white space.
pub(super) fn image_id(layers: &[LayerId], config: &ImageConfig) -> ImageId {
    let bytes = serde_json::to_vec(&(layers, config)).expect("an image is plain data");
    ImageId(Digest::of(&bytes).hex().to_owned())
}
