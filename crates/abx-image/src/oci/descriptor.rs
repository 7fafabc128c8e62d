//! A pointer to a blob.

use serde::{Deserialize, Serialize};

use crate::{Digest, Platform};

/// Names a blob by type, digest and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    /// As written: see [`Descriptor::digest`].
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    platform: Option<Offered>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Offered {
    architecture: String,
    os: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variant: Option<String>,
}

impl Descriptor {
    pub(crate) fn new(media_type: &str, digest: &Digest, size: u64) -> Self {
        let (media_type, digest) = (media_type.to_owned(), digest.to_string());
        Self { media_type, digest, size, platform: None, annotations: None }
    }

    /// Adds what it is for.
    pub(crate) fn for_platform(mut self, platform: &Platform) -> Self {
        let Platform { os, architecture, variant } = platform.clone();
        self.platform = Some(Offered { architecture, os, variant });
        self
    }

    /// Adds an annotation.
    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.get_or_insert_default().insert(key.to_owned(), value.into());
        self
    }

    /// The digest, where it is well formed: only then may it become part of an address or a path.
    pub(crate) fn digest(&self) -> Option<Digest> {
        Digest::parse(&self.digest)
    }

    /// Where the blob lies in a layout.
    pub(crate) fn path(&self) -> String {
        self.digest.replacen("sha256:", "blobs/sha256/", 1)
    }

    /// The platform of an image in an index; `None` for an entry that is none, as attestations.
    pub(crate) fn platform(&self) -> Option<Platform> {
        let Offered { architecture, os, variant } = self.platform.clone()?;
        (os != "unknown").then_some(Platform { os, architecture, variant })
    }
}
