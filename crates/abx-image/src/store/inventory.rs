//! What is in the store: to be listed, checked and cleaned.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use abx_core::fs::{Staging, touch};

use super::names::unescape;
use super::{ImageStore, read_optional};
use crate::digest::well_formed;
use crate::{Image, ImageError, ImageId, LayerId, LayerRecord, PackOptions, pack};

/// An image's record.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredImage {
    pub id: ImageId,
    /// `None` where the record is damaged: its id does not follow from its content.
    pub image: Option<Image>,
    /// When it was last used, or recorded.
    pub used: SystemTime,
}

/// A layer's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLayer {
    pub id: LayerId,
    /// `None` for one that does not count.
    pub record: Option<LayerRecord>,
}

/// What a name in a registry stood for, as far as it matters here.
#[derive(serde::Deserialize)]
struct Pulled {
    image: ImageId,
}

impl ImageStore {
    /// Every image's record, whether its layers are there or not.
    pub fn stored_images(&self) -> Result<Vec<StoredImage>, ImageError> {
        let root = self.home().store("images");
        let mut images = Vec::new();
        for (name, path) in entries(&root)? {
            let Some(id) = name.strip_suffix(".json").filter(|id| well_formed(id)) else { continue };
            let Some(bytes) = read_optional(&path).map_err(ImageError::store("read", &path))? else {
                continue;
            };
            let id = ImageId(id.to_owned());
            let image = serde_json::from_slice::<Image>(&bytes).ok();
            let image = image.filter(|image| image.id == id && is_own(image));
            let used = path.metadata().and_then(|metadata| metadata.modified());
            images.push(StoredImage { id, image, used: used.unwrap_or(SystemTime::UNIX_EPOCH) });
        }
        Ok(images)
    }

    /// Every layer's entry.
    pub fn stored_layers(&self) -> Result<Vec<StoredLayer>, ImageError> {
        let mut layers = Vec::new();
        for (name, path) in entries(&self.layers())? {
            let record = self.record(&path).map_err(ImageError::store("read", &path))?;
            layers.push(StoredLayer { id: LayerId(name), record });
        }
        Ok(layers)
    }

    /// Notes that an image was used now.
    pub fn touch_image(&self, id: &ImageId) {
        touch(&self.image_path(id));
    }

    /// Moves a layer out of its place into `staging`, with which it goes; images that have it do not count any more.
    /// The caller knows that nobody uses it.
    pub fn take_layer(&self, id: &LayerId, staging: &Staging) -> Result<(), ImageError> {
        let path = self.layers().join(&id.0);
        take(&path, &staging.path().join(&id.0)).map_err(ImageError::store("remove", &path))
    }

    /// Removes an image's record and everything that stands for it but local templates; its layers stay.
    pub fn remove_image(&self, id: &ImageId) -> Result<(), ImageError> {
        let path = self.image_path(id);
        remove(&path)?;
        for part in ["bases", "plans", "vendored"] {
            for (_, path) in entries(&self.home().store(part))? {
                if std::fs::read_to_string(&path)
                    .is_ok_and(|text| text.split_whitespace().next() == Some(&id.0))
                {
                    remove(&path)?;
                }
            }
        }
        for (_, path) in entries(&self.home().store("pulled"))? {
            if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(&id.0)) {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// What images are called beside local templates: the names of bases, those in registries and in vendored files.
    pub fn image_names(&self) -> Result<BTreeMap<ImageId, Vec<String>>, ImageError> {
        let mut names: BTreeMap<ImageId, Vec<String>> = BTreeMap::new();
        for (name, path) in entries(&self.home().store("bases"))? {
            if let Ok(id) = std::fs::read_to_string(&path) {
                let name = name.replace("%2F", "/").replace("%25", "%");
                names.entry(ImageId(id.trim().to_owned())).or_default().push(name);
            }
        }
        for (_, path) in entries(&self.home().store("vendored"))? {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if let Some((id, name)) = text.trim().split_once(' ') {
                names.entry(ImageId(id.to_owned())).or_default().push(name.to_owned());
            }
        }
        for (name, path) in entries(&self.home().store("pulled"))? {
            let record =
                std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Pulled>(&bytes).ok());
            let name = unescape(name.strip_suffix(".json").unwrap_or(&name));
            if let Some((record, name)) = record.zip(name) {
                // The platform follows.
                let name = name.split(' ').next().unwrap_or_default().to_owned();
                let names = names.entry(record.image).or_default();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    /// Compares what a layer holds with what it held when it was compared first; `None` says that there was nothing to
    /// compare with until now. Reads all of it.
    pub fn check_layer(&self, id: &LayerId) -> Result<Option<bool>, ImageError> {
        let packed = pack(&self.layer_path(id), PackOptions::default(), std::io::sink())?;
        let path = self.layers().join(&id.0).join("packed");
        let found = packed.diff_id.to_string();
        match read_optional(&path).map_err(ImageError::store("read", &path))? {
            Some(known) => Ok(Some(known == found.as_bytes())),
            None => {
                abx_core::fs::write_atomic(&path, found.as_bytes())
                    .map_err(ImageError::store("write", &path))?;
                Ok(None)
            }
        }
    }
}

/// Whether the id is the one that follows from layers and configuration.
fn is_own(image: &Image) -> bool {
    super::images::image_id(&image.layers, &image.config) == image.id
}

/// Names and paths in a directory, in order; none where it is not there. Hidden ones are somebody's in the making.
fn entries(root: &Path) -> Result<Vec<(String, PathBuf)>, ImageError> {
    let entries = match std::fs::read_dir(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(ImageError::store("list", root))?,
    };
    let mut found: Vec<_> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(name, _)| !name.starts_with('.'))
        .collect();
    found.sort_unstable();
    Ok(found)
}

fn take(path: &Path, target: &Path) -> std::io::Result<()> {
    match std::fs::rename(path, target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn remove(path: &Path) -> Result<(), ImageError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result.map_err(ImageError::store("remove", path)),
    }
}
