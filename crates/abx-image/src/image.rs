//! An image: layers and how to run them.

use serde::{Deserialize, Serialize};

/// Names a layer in the store: `sha256` hex of what made it (for a pulled layer, of its uncompressed tar).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LayerId(pub String);

/// Names an image in the store: `sha256` hex over its layers and configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageId(pub String);

/// A whole image in the store. Every layer it names is there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Image {
    pub id: ImageId,
    /// Bottom first.
    pub layers: Vec<LayerId>,
    pub config: ImageConfig,
    pub origin: Origin,
}

/// How to run an image: the part of the OCI image configuration we act on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    /// `amd64`, `arm64`, … as OCI spells them.
    pub architecture: String,
    /// In order; a name occurs once.
    pub env: Vec<(String, String)>,
    /// `USER`; empty means root.
    pub user: String,
    /// `WORKDIR`; empty means `/`.
    pub workdir: String,
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
    /// `80/tcp`.
    pub exposed_ports: Vec<String>,
    pub labels: Vec<(String, String)>,
    /// One line for each layer on what made it, bottom first.
    pub history: Vec<String>,
    /// What made no layer, in order: each with the number of layers that were there by then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<(usize, String)>,
    /// `VOLUME`: directories that outlive a container elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
    /// `STOPSIGNAL`; empty means `SIGTERM`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stop_signal: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthcheck: Option<Healthcheck>,
    /// `ONBUILD`: instructions for Dockerfiles that begin with this image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<String>,
    /// `SHELL`; empty means `/bin/sh -c`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shell: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub author: String,
}

/// `HEALTHCHECK` as an image's configuration keeps it. Times are in nanoseconds, 0 for the runtime's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Healthcheck {
    /// `NONE`; `CMD` and a program with its arguments; or `CMD-SHELL` and a line for the shell.
    pub test: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub interval: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub start_period: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub start_interval: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Where the bottom of an image came from; shown to the user and kept with the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// A registry: the name as asked for and the manifest's digest.
    Registry { name: String, digest: String },
    /// A distribution's own archive: release, the date of its release file, the mirror used, and the packages.
    Archive { release: String, date: String, packages: Vec<String> },
}
