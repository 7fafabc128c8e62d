//! What a layer is in registries: `layers/<id>/blobs.json`, gone with the layer.

use abx_core::fs::write_atomic;
use serde::{Deserialize, Serialize};

use super::{ImageStore, read_optional};
use crate::oci::Descriptor;
use crate::{Digest, ImageError, LayerId, PackOptions};

/// A layer was packed in at most so many ways that are worth knowing.
const KEPT: usize = 4;

/// At most so many places are remembered for each.
const PLACES: usize = 16;

/// A layer as a blob, and where it has been seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownBlob {
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    /// Of its uncompressed tar.
    pub(crate) diff_id: String,
    /// `host/repository`, last one first.
    pub(crate) places: Vec<String>,
    /// How it was packed here; `None` where it was pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) packed: Option<PackOptions>,
}

impl KnownBlob {
    pub(crate) fn new(blob: &Descriptor, diff_id: &Digest, place: String) -> Self {
        Self {
            media_type: blob.media_type.clone(),
            digest: blob.digest.clone(),
            size: blob.size,
            diff_id: diff_id.to_string(),
            places: vec![place],
            packed: None,
        }
    }

    /// The two digests, where they are well formed.
    pub(crate) fn digests(&self) -> Option<(Digest, Digest)> {
        Some((Digest::parse(&self.digest)?, Digest::parse(&self.diff_id)?))
    }
}

impl ImageStore {
    /// As what a layer was pulled or pushed before, last one first. A damaged record is none: it only saves work.
    pub(crate) fn known_blobs(&self, id: &LayerId) -> Vec<KnownBlob> {
        let bytes = read_optional(&self.blobs_path(id)).ok().flatten();
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Remembers that the layer is, or was taken from, this blob.
    pub(crate) fn remember_blob(&self, id: &LayerId, blob: KnownBlob) -> Result<(), ImageError> {
        let mut known = self.known_blobs(id);
        let (same, mut others): (Vec<_>, Vec<_>) =
            known.drain(..).partition(|other| other.digest == blob.digest && other.diff_id == blob.diff_id);
        let mut blob = blob;
        for place in same.into_iter().flat_map(|other| other.places) {
            if !blob.places.contains(&place) {
                blob.places.push(place);
            }
        }
        blob.places.truncate(PLACES);
        others.insert(0, blob);
        others.truncate(KEPT);
        let path = self.blobs_path(id);
        let bytes = serde_json::to_vec(&others).expect("a record is plain data");
        write_atomic(&path, &bytes).map_err(ImageError::store("write", &path))
    }

    fn blobs_path(&self, id: &LayerId) -> std::path::PathBuf {
        self.layers().join(&id.0).join("blobs.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerRecord;
    use abx_core::Home;

    #[test]
    fn places_gather_and_the_last_one_comes_first() {
        let dir = tempfile::tempdir().expect("tempdir");
        let store = ImageStore::open(&Home::new(dir.path()));
        let id = LayerId("a".repeat(64));
        store.begin_layer().expect("begin").publish(id.clone(), &LayerRecord::new("test")).expect("publish");
        assert_eq!(store.known_blobs(&id), []);
        let blob = |bytes: &[u8], place: &str| {
            KnownBlob::new(&Descriptor::new("x", &Digest::of(bytes), 1), &Digest::of(b"d"), place.to_owned())
        };
        for (bytes, place) in [(b"1", "a/x"), (b"2", "a/x"), (b"1", "b/y"), (b"1", "a/x")] {
            store.remember_blob(&id, blob(bytes, place)).expect("remember");
        }
        let known = store.known_blobs(&id);
        assert_eq!(known.len(), 2);
        assert_eq!(
            (known[0].digest.clone(), known[0].places.clone()),
            (Digest::of(b"1").to_string(), vec!["a/x".to_owned(), "b/y".to_owned()])
        );
        std::fs::write(store.blobs_path(&id), "damaged").expect("write");
        assert_eq!(store.known_blobs(&id), []);
    }
}
