//! An image in the store to a registry.

use std::collections::HashMap;
use std::sync::Arc;

use abx_core::progress::{Event, Progress, Unit, start};
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use super::ask::{Ask, pause};
use super::client::client;
use super::endpoint::{Endpoint, RETRIES};
use super::open_uploads::OpenUploads;
use super::packing;
use super::upload::{self, Begun};
use super::{RegistryName, RegistrySettings};
use crate::oci::{self, Descriptor, ImageManifest};
use crate::store::KnownBlob;
use crate::{Digest, Image, ImageError, ImageStore, LayerId, PackOptions};

/// Layers sent at a time.
const PARALLEL: usize = 3;

/// An upload that was lost is begun anew so many times.
const ANEW: u32 = 2;

/// What a push came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Digest of the manifest: what the name stands for from now on.
    pub digest: Digest,
    /// Layers that had to be sent; the others were there, or were mounted from another repository.
    pub sent: usize,
    /// Bytes of those, as they were sent.
    pub bytes: u64,
}

/// Pushes the image to `name` (`host/team/app:tag`), with `annotations` in its manifest. Layers are packed and
/// compressed while they are sent, nothing is written to disk. What the registry has is not sent again.
///
/// The same image gives the same manifest. Where it fails, or is dropped, the name stands for what it did; `open`
/// then knows what the registry holds of it.
///
/// # Errors
/// [`ImageError::Push`] for everything that is not this machine's fault.
pub async fn push(
    store: &ImageStore,
    image: &Image,
    name: &RegistryName,
    annotations: &[(String, String)],
    settings: &RegistrySettings,
    open: &OpenUploads,
    progress: &dyn Progress,
) -> Result<Pushed, ImageError> {
    let work = async {
        let endpoint = Arc::new(Endpoint::for_push(&client(settings)?, name, settings)?);
        open.of(&endpoint);
        let push = Push { store, endpoint: &endpoint, name, progress };
        push.image(image, annotations).await
    };
    work.await.map_err(ImageError::push(name))
}

struct Push<'a> {
    store: &'a ImageStore,
    endpoint: &'a Endpoint,
    name: &'a RegistryName,
    progress: &'a dyn Progress,
}

/// A layer at its place, and whether it was sent for that.
struct Placed {
    blob: KnownBlob,
    was_sent: bool,
}

impl Push<'_> {
    async fn image(&self, image: &Image, annotations: &[(String, String)]) -> Result<Pushed, ImageError> {
        let placed = self.layers(&image.layers).await?;
        let mut layers = Vec::new();
        let mut diff_ids = Vec::new();
        for layer in &image.layers {
            let blob = &placed[layer].blob;
            let (digest, diff_id) = blob.digests().expect("checked when it was placed");
            layers.push(Descriptor::new(&oci::in_oci(&blob.media_type), &digest, blob.size));
            diff_ids.push(diff_id);
        }
        let config = oci::write_config(&image.config, &diff_ids, &self.store.created(image)?);
        let descriptor = Descriptor::new(oci::CONFIG, &Digest::of(&config), config.len() as u64);
        upload::put(self.endpoint, &Digest::of(&config), config.into()).await?;
        let manifest = ImageManifest::new(descriptor, layers).annotated(annotations);
        let manifest = serde_json::to_vec(&manifest).expect("a manifest is plain data");
        let digest = self.manifest(manifest).await?;
        let sent = placed.values().filter(|placed| placed.was_sent);
        let bytes = sent.clone().map(|placed| placed.blob.size).sum();
        Ok(Pushed { digest, sent: sent.count(), bytes })
    }

    /// Has every layer in the repository, several at a time.
    async fn layers(&self, layers: &[LayerId]) -> Result<HashMap<LayerId, Placed>, ImageError> {
        let mut unique = layers.to_vec();
        unique.sort();
        unique.dedup();
        let work = unique.into_iter().map(|layer| async move {
            let placed = self.layer(&layer).await?;
            Ok::<_, ImageError>((layer, placed))
        });
        // Polled together, so that one that fails ends the others.
        stream::iter(work).buffer_unordered(PARALLEL).try_collect().await
    }

    async fn layer(&self, layer: &LayerId) -> Result<Placed, ImageError> {
        if !self.store.has_layer(layer) {
            return Err(ImageError::NoLayer { id: layer.0.clone() });
        }
        let short = &layer.0[..12];
        // One that was packed for another time is not what this image shall be whenever it is pushed.
        let options = self.store.pack_options();
        let fits = |known: &KnownBlob| {
            options == PackOptions::default() || known.packed.is_none_or(|packed| packed == options)
        };
        for known in self.store.known_blobs(layer).into_iter().filter(fits) {
            if let Some(how) = self.find(&known).await? {
                let task = start(self.progress, format!("layer {short}"), Some(known.size), Unit::Bytes);
                task.finish(how);
                self.remember(layer, known.clone())?;
                return Ok(Placed { blob: known, was_sent: false });
            }
        }
        let task = start(self.progress, format!("layer {short}"), None, Unit::Bytes);
        let mut attempt = 0;
        let sent = loop {
            let send = packing::send_layer(self.store, layer, self.endpoint, &task);
            match send.await {
                Err(error) if error.is_passing() && attempt < ANEW => {
                    attempt += 1;
                    let why = format!("layer {short} is sent anew: {error}");
                    self.progress.event(Event::Warning(why));
                    pause(attempt).await;
                }
                result => break result?,
            }
        };
        let blob = KnownBlob::new(&sent.blob, &sent.diff_id, self.endpoint.place());
        let blob = KnownBlob { packed: Some(options), ..blob };
        self.remember(layer, blob.clone())?;
        task.finish(if sent.was_there { "already there" } else { "sent" });
        Ok(Placed { blob, was_sent: !sent.was_there })
    }

    /// Looks for a blob in the repository, then in others of the same registry. Says where it was.
    async fn find(&self, known: &KnownBlob) -> Result<Option<String>, ImageError> {
        let Some((digest, _)) = known.digests() else { return Ok(None) };
        let blob = format!("blobs/{digest}");
        if self.endpoint.head(&blob, "*/*").await?.is_some() {
            return Ok(Some("already there".to_owned()));
        }
        let registry = format!("{}/", self.name.registry());
        for place in &known.places {
            let Some(other) = place.strip_prefix(&registry) else { continue };
            if other == self.name.repository() {
                continue;
            }
            match upload::begin(self.endpoint, Some((&digest, other))).await? {
                Begun::Mounted => return Ok(Some(format!("mounted from {other}"))),
                // There, it is gone, or not ours to see.
                Begun::Upload(upload) => upload.abandon().await,
            }
        }
        Ok(None)
    }

    /// Remembering saves work the next time; that it cannot be written down now is no reason to fail.
    fn remember(&self, layer: &LayerId, mut blob: KnownBlob) -> Result<(), ImageError> {
        let place = self.endpoint.place();
        blob.places.retain(|known| *known != place);
        blob.places.insert(0, place);
        let _ = self.store.remember_blob(layer, blob);
        Ok(())
    }

    /// Points the tag to the manifest, unless it does already.
    async fn manifest(&self, manifest: Vec<u8>) -> Result<Digest, ImageError> {
        let digest = Digest::of(&manifest);
        let path = format!("manifests/{}", self.name.tag());
        let named = self
            .endpoint
            .head(&path, oci::MANIFESTS)
            .await?
            .and_then(|headers| headers.get("docker-content-digest")?.to_str().ok().map(str::to_owned));
        if named.as_deref() == Some(&digest.to_string()) {
            return Ok(digest);
        }
        let mut ask = Ask::new(Method::PUT, self.endpoint.url(&path)).with(CONTENT_TYPE, oci::MANIFEST);
        ask.body = manifest.into();
        let mut attempt = 0;
        let response = loop {
            match self.endpoint.get(ask.clone()).await {
                Err(error) if error.is_passing() && attempt < RETRIES => {
                    attempt += 1;
                    pause(attempt).await;
                }
                result => break result?,
            }
        };
        upload::check_digest(&response, &digest, || format!("the manifest of {}", self.name))?;
        Ok(digest)
    }
}
