//! Manifests and indexes, of OCI and of docker (which differ in names only).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Descriptor, INDEX, MANIFEST};

/// Either kind of document a name may stand for.
#[derive(Debug)]
pub(crate) enum Manifest {
    Image(Box<ImageManifest>),
    Index(Index),
}

/// One image.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageManifest {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<Map<String, Value>>,
}

/// Images for several platforms.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Index {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    pub(crate) manifests: Vec<Descriptor>,
}

impl ImageManifest {
    pub(crate) fn new(config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self { schema_version: 2, media_type: MANIFEST.to_owned(), config, layers, annotations: None }
    }

    /// Adds annotations.
    pub(crate) fn annotated(mut self, annotations: &[(String, String)]) -> Self {
        for (key, value) in annotations {
            self.annotations.get_or_insert_default().insert(key.clone(), value.clone().into());
        }
        self
    }

    /// The annotations that are text.
    pub(crate) fn annotations(&self) -> Vec<(String, String)> {
        let pairs = self.annotations.iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }
}

impl Index {
    pub(crate) fn new(manifests: Vec<Descriptor>) -> Self {
        Self { schema_version: 2, media_type: INDEX.to_owned(), manifests }
    }
}

impl Manifest {
    /// Tells the two apart by what they hold, which no registry can mislabel.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if value.get("schemaVersion").and_then(serde_json::Value::as_u64) == Some(1) {
            return Err("it is in docker's old schema 1, which is not supported".to_owned());
        }
        let is_index = value.get("manifests").is_some();
        let manifest = match is_index {
            true => serde_json::from_value(value).map(Self::Index),
            false => serde_json::from_value(value).map(Self::Image),
        };
        manifest.map_err(|error| error.to_string())
    }
}
