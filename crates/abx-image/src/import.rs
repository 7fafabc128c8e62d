//! An image archive in, an image in the store out.
//!
//! The archive is an OCI layout as a tar that is not compressed, whoever made it and in whatever order its members are:
//! they are looked up first, without reading their data. Nothing of a layer is kept unless its digests are right.

mod layer;
mod members;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use abx_core::Progress;
use abx_core::progress::{Task, Unit, start};

use crate::oci::{self, Descriptor, ImageFile, ImageManifest, Manifest};
use crate::{Digest, Image, ImageError, ImageStore, LayerId, LayerRecord, Origin, Platform};
use members::Members;

/// Layers unpacked at a time.
const PARALLEL: usize = 4;

/// An image of an archive in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub image: Image,
    /// Of its manifest.
    pub manifest: Digest,
    /// What was left out and why, for the user.
    pub notes: Vec<String>,
}

impl ImageStore {
    /// Brings an image of the archive at `path` into the store: the one whose manifest is `wanted`, else the one for
    /// this machine. Layers that are there are not read. Blocks; needs root, as unpacking does.
    ///
    /// # Errors
    /// [`ImageError::Archive`] where it is no such archive or broken off, [`ImageError::Digest`] where a blob is not what
    /// it is called by; the store has no more than some of the layers then.
    pub fn import_oci(
        &self,
        path: &Path,
        wanted: Option<&Digest>,
        origin: Option<Origin>,
        progress: &dyn Progress,
    ) -> Result<Imported, ImageError> {
        let members = Members::open(path)?;
        let digest = match wanted {
            Some(digest) => digest.clone(),
            None => choose(&members)?,
        };
        let malformed =
            |reason| ImageError::Manifest { subject: members.path().display().to_string(), reason };
        let manifest = match Manifest::read(&members.document(&digest)?).map_err(malformed)? {
            Manifest::Image(manifest) => manifest,
            Manifest::Index(_) => return Err(malformed("an index within an index".to_owned())),
        };
        let config = manifest.config.digest().ok_or_else(|| malformed("a malformed digest".to_owned()))?;
        let file = ImageFile::read(&members.document(&config)?).map_err(malformed)?;
        if file.diff_ids().len() != manifest.layers.len() {
            return Err(malformed("it names more or fewer layers than its configuration".to_owned()));
        }
        let architecture = Platform::host().architecture;
        if !file.architecture().is_empty() && file.architecture() != architecture {
            return Err(ImageError::NoPlatform {
                name: path.display().to_string(),
                platform: Platform::host().to_string(),
                offered: vec![format!("linux/{}", file.architecture())],
            });
        }
        let notes = self.import_layers(&members, &manifest, &file, progress)?;
        let layers = file.diff_ids().iter().map(|diff_id| LayerId(diff_id.hex().to_owned())).collect();
        let name = || path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let origin = origin.unwrap_or_else(|| Origin::Registry { name: name(), digest: digest.to_string() });
        let image = self.put_image(layers, file.to_config(), origin)?;
        Ok(Imported { image, manifest: digest, notes })
    }

    /// Every layer that is not there yet, several at a time. The first failure ends it.
    fn import_layers(
        &self,
        members: &Members,
        manifest: &ImageManifest,
        file: &ImageFile,
        progress: &dyn Progress,
    ) -> Result<Vec<String>, ImageError> {
        let total = manifest.layers.iter().map(|blob| blob.size).sum();
        let task = start(progress, "unpacking layers", Some(total), Unit::Bytes);
        let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Ok(Vec::new())));
        let history = file.layer_history();
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let (Some(blob), Some(diff_id)) = (manifest.layers.get(index), file.diff_ids().get(index))
                else {
                    return;
                };
                let created_by = history.get(index).map_or("", String::as_str);
                let notes = self.import_layer(members, blob, diff_id, created_by, &task);
                let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                match (&mut *outcome, notes) {
                    (Ok(all), Ok(notes)) => all.extend(notes),
                    (outcome @ Ok(_), Err(error)) => {
                        *outcome = Err(error);
                        next.store(manifest.layers.len(), Ordering::Relaxed);
                    }
                    (Err(_), _) => {}
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL.min(manifest.layers.len()) {
                scope.spawn(work);
            }
        });
        outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn import_layer(
        &self,
        members: &Members,
        blob: &Descriptor,
        diff_id: &Digest,
        created_by: &str,
        task: &Task<'_>,
    ) -> Result<Vec<String>, ImageError> {
        let id = LayerId(diff_id.hex().to_owned());
        if self.has_layer(&id) {
            task.advance(blob.size);
            return Ok(Vec::new());
        }
        if !oci::is_layer(&blob.media_type) {
            let reason = format!("a layer of the unknown kind {:?}", blob.media_type);
            return Err(ImageError::Manifest { subject: members.path().display().to_string(), reason });
        }
        let _one = self.lock_layer(&id)?;
        if self.has_layer(&id) {
            task.advance(blob.size);
            return Ok(Vec::new());
        }
        let staged = self.begin_layer()?;
        let notes = layer::unpack_blob(members.blob(blob)?, blob, diff_id, &staged.fs(), task)?;
        let created_by = if created_by.is_empty() { "an image archive" } else { created_by };
        staged.publish(id, &LayerRecord::new(created_by))?;
        Ok(notes)
    }
}

/// The image for this machine; one that does not say whom it is for is taken where it is the only one.
fn choose(members: &Members) -> Result<Digest, ImageError> {
    let malformed = |reason| ImageError::Manifest { subject: members.path().display().to_string(), reason };
    let index = match Manifest::read(&members.read("index.json")?).map_err(malformed)? {
        Manifest::Index(index) => index.manifests,
        Manifest::Image(_) => return Err(malformed("its index is none".to_owned())),
    };
    let host = Platform::host();
    let fits = |entry: &&Descriptor| entry.platform().is_some_and(|offered| host.takes(&offered));
    let chosen = match index.as_slice() {
        [only] => Some(only),
        entries => entries.iter().find(fits),
    };
    let chosen = chosen.ok_or_else(|| ImageError::NoPlatform {
        name: members.path().display().to_string(),
        platform: host.to_string(),
        offered: index.iter().filter_map(|entry| Some(entry.platform()?.to_string())).collect(),
    })?;
    chosen.digest().ok_or_else(|| malformed("a malformed digest".to_owned()))
}

#[cfg(test)]
mod tests;
