//! A name in, an image in the store out.

use std::collections::HashSet;
use std::time::Duration;

use abx_core::fs::Lock;
use abx_core::progress::{Event, Progress, Unit, start};
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::Client;

use super::blob::fetch_layer;
use super::client::client;
use super::endpoint::Endpoint;
use super::manifest::{self, Found};
use super::{Platform, RegistryName, RegistrySettings};
use crate::oci::{self, Descriptor, ImageFile};
use crate::store::KnownBlob;
use crate::{Digest, Image, ImageError, ImageStore, LayerId, LayerRecord, Origin};

/// Layers fetched at a time.
const PARALLEL: usize = 4;

/// How often to look whether another process has made a layer.
const LOOK: Duration = Duration::from_millis(100);

/// Fetches the image `name` for `platform` into the store. Layers that are there are not fetched again, and
/// two processes fetch a layer once. Nothing of a layer is kept unless its digests are right.
///
/// [`ImageError::is_unreachable`] tells that no registry answered, within a few seconds: the moment for a
/// fallback. Works on any runtime; blocking work goes to its blocking threads.
pub async fn pull(
    store: &ImageStore,
    name: &str,
    platform: &Platform,
    settings: &RegistrySettings,
    progress: &dyn Progress,
) -> Result<Image, ImageError> {
    let parsed = RegistryName::parse(name)?;
    let client = client(settings)?;
    let (endpoint, found) = locate(&client, &parsed, platform, settings, progress).await?;
    if let Some(pulled) =
        store.pulled(name, platform)?.filter(|pulled| pulled.digest == found.digest.to_string())
    {
        store.record_pull(&parsed, platform, &found.digest, &pulled.image)?;
        return Ok(pulled.image);
    }
    let file = image_file(&endpoint, &parsed, &found).await?;
    check_platform(&file, &parsed, platform)?;
    let layers = fetch_layers(store, &endpoint, &parsed, &file, &found.layers, progress).await?;
    let config = file.to_config();
    let origin = Origin::Registry { name: name.to_owned(), digest: found.digest.to_string() };
    let (store, platform) = (store.clone(), platform.clone());
    let record = move || {
        let image = store.put_image(layers, config, origin)?;
        store.record_pull(&parsed, &platform, &found.digest, &image)?;
        Ok(image)
    };
    tokio::task::spawn_blocking(record).await.map_err(|_| ImageError::Interrupted)?
}

/// The first endpoint that has the image. Where none has, the registry's own error counts.
pub(super) async fn locate(
    client: &Client,
    name: &RegistryName,
    platform: &Platform,
    settings: &RegistrySettings,
    progress: &dyn Progress,
) -> Result<(Endpoint, Found), ImageError> {
    let mut endpoints = Endpoint::all(client, name, settings)?.into_iter().peekable();
    loop {
        let endpoint = endpoints.next().expect("the registry itself is always one");
        match manifest::find(&endpoint, name, platform).await {
            Ok(found) => return Ok((endpoint, found)),
            Err(error) if endpoints.peek().is_none() => return Err(error),
            Err(error) => {
                let host = endpoint.host();
                progress.event(Event::Warning(format!("mirror {host} does not serve {name}: {error}")));
            }
        }
    }
}

/// The image's configuration, checked.
async fn image_file(
    endpoint: &Endpoint,
    name: &RegistryName,
    found: &Found,
) -> Result<ImageFile, ImageError> {
    let malformed = |reason: String| ImageError::Manifest { subject: name.to_string(), reason };
    let digest = found.config.digest().ok_or_else(|| malformed("a malformed digest".to_owned()))?;
    let (_, body) = endpoint.read(&format!("blobs/{digest}"), "*/*").await?;
    let actual = Digest::of(&body);
    if actual != digest {
        let subject = format!("the configuration of {name}");
        return Err(ImageError::Digest { subject, expected: digest.to_string(), found: actual.to_string() });
    }
    let file = ImageFile::read(&body).map_err(malformed)?;
    match file.diff_ids().len() == found.layers.len() {
        true => Ok(file),
        false => Err(malformed("it names more or fewer layers than its configuration".to_owned())),
    }
}

/// An image without an index is for one platform: that of its configuration.
fn check_platform(file: &ImageFile, name: &RegistryName, platform: &Platform) -> Result<(), ImageError> {
    match file.architecture() {
        "" => Ok(()),
        architecture if architecture == platform.architecture => Ok(()),
        architecture => Err(ImageError::NoPlatform {
            name: name.to_string(),
            platform: platform.to_string(),
            offered: vec![format!("linux/{architecture}")],
        }),
    }
}

/// Brings every layer into the store, several at a time.
async fn fetch_layers(
    store: &ImageStore,
    endpoint: &Endpoint,
    name: &RegistryName,
    file: &ImageFile,
    blobs: &[Descriptor],
    progress: &dyn Progress,
) -> Result<Vec<LayerId>, ImageError> {
    let history = file.layer_history();
    let mut seen = HashSet::new();
    let wanted =
        file.diff_ids().iter().zip(blobs).enumerate().filter(|(_, (diff_id, _))| seen.insert(*diff_id));
    let wanted: Vec<_> = wanted.collect();
    let fetches = stream::iter(wanted).map(|(index, (diff_id, blob))| {
        let created_by = history.get(index).filter(|line| !line.is_empty()).cloned();
        let record = LayerRecord::new(created_by.unwrap_or_else(|| name.to_string()));
        ensure_layer(store, endpoint, name, diff_id, blob, record, progress)
    });
    fetches.buffer_unordered(PARALLEL).try_collect::<Vec<()>>().await?;
    Ok(file.diff_ids().iter().map(|diff_id| LayerId(diff_id.hex().to_owned())).collect())
}

/// One layer, unless it is there: ours to fetch only while nobody else fetches it.
async fn ensure_layer(
    store: &ImageStore,
    endpoint: &Endpoint,
    name: &RegistryName,
    diff_id: &Digest,
    blob: &Descriptor,
    record: LayerRecord,
    progress: &dyn Progress,
) -> Result<(), ImageError> {
    let id = LayerId(diff_id.hex().to_owned());
    let malformed = |reason: String| ImageError::Manifest { subject: name.to_string(), reason };
    if store.has_layer(&id) {
        return Ok(());
    }
    if blob.digest().is_none() {
        return Err(malformed("a malformed digest".to_owned()));
    }
    if !oci::is_layer(&blob.media_type) {
        return Err(malformed(format!("a layer of the unknown kind {:?}", blob.media_type)));
    }
    let _lock = lock(store, &id).await?;
    if store.has_layer(&id) {
        return Ok(());
    }
    let task = start(progress, format!("layer {}", &diff_id.hex()[..12]), Some(blob.size), Unit::Bytes);
    let (staged, unpacked) = fetch_layer(store, endpoint, blob, diff_id, &task).await?;
    for note in unpacked.notes {
        progress.event(Event::Note(format!("{name}: {note}")));
    }
    let id = staged.publish(id, &record)?;
    // It saves work when the layer is pushed; that it cannot be written down is no reason to fail.
    let _ = store.remember_blob(&id, KnownBlob::new(blob, diff_id, endpoint.place()));
    task.finish("");
    Ok(())
}

/// The layer's lock, waited for without holding a thread, so that dropping the pull ends it.
async fn lock(store: &ImageStore, id: &LayerId) -> Result<Lock, ImageError> {
    loop {
        if let Some(lock) = store.try_lock_layer(id)? {
            return Ok(lock);
        }
        tokio::time::sleep(LOOK).await;
    }
}
