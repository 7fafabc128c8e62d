//! What names in registries stood for when last asked.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use abx_core::fs::write_atomic;
use serde::{Deserialize, Serialize};

use super::{Platform, RegistryName};
use crate::{Digest, Image, ImageError, ImageId, ImageStore};

/// An image as it was pulled.
#[derive(Clone, Debug, PartialEq)]
pub struct Pulled {
    pub image: Image,
    /// What the name stood for, `sha256:…`.
    pub digest: String,
    /// When the registry was asked, in seconds since 1970.
    pub at: u64,
}

#[derive(Serialize, Deserialize)]
struct Record {
    image: ImageId,
    digest: String,
    at: u64,
}

impl ImageStore {
    /// What `name` stood for when it was last pulled for this platform, with all its layers; `None` where it
    /// never was. Asks nobody: how old an answer may be is the caller's to decide, unless the name holds a digest.
    pub fn pulled(&self, name: &str, platform: &Platform) -> Result<Option<Pulled>, ImageError> {
        let path = self.pulled_path(&RegistryName::parse(name)?, platform);
        let bytes = crate::store::read_optional(&path).map_err(ImageError::store("read", &path))?;
        let Some(record) = bytes.and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok()) else {
            return Ok(None);
        };
        let image = self.image(&record.image)?;
        Ok(image.map(|image| Pulled { image, digest: record.digest, at: record.at }))
    }

    pub(super) fn record_pull(
        &self,
        name: &RegistryName,
        platform: &Platform,
        digest: &Digest,
        image: &Image,
    ) -> Result<(), ImageError> {
        let path = self.pulled_path(name, platform);
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let record = Record { image: image.id.clone(), digest: digest.to_string(), at };
        let bytes = serde_json::to_vec(&record).expect("a record is plain data");
        write_atomic(&path, &bytes).map_err(ImageError::store("write", &path))
    }

    fn pulled_path(&self, name: &RegistryName, platform: &Platform) -> PathBuf {
        let key = crate::store::escape(&format!("{name} {platform}"));
        self.home().store("pulled").join(format!("{key}.json"))
    }
}
