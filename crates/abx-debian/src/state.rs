//! What the last bootstrap of a release was made from, so that the next one may be spared.

use std::path::PathBuf;
use std::time::Duration;

use abx_core::fs::write_atomic;
use abx_image::ImageId;
use serde::{Deserialize, Serialize};

use crate::archive::KeptSuite;
use crate::digest::sha256_hex;
use crate::error::DebianError;
use crate::release::Release;
use crate::settings::BootstrapSettings;

/// The record of one release, slimness, architecture and public mirror.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// When the archive was last asked, seconds since 1970.
    pub(crate) checked: u64,
    pub(crate) suites: Vec<KeptSuite>,
    pub(crate) image: ImageId,
}

/// Where the record of a release lies.
pub(crate) struct StateFile {
    path: PathBuf,
}

impl StateFile {
    pub(crate) fn new(release: &Release, architecture: &str, settings: &BootstrapSettings) -> Self {
        let mirror = sha256_hex(settings.public_mirrors().archive.as_bytes());
        let name = format!("{release}-{architecture}-{}.json", &mirror[..8]);
        Self { path: settings.home.cache("debs").join("state").join(name) }
    }

    /// The record; `None` where there is none that can be read.
    pub(crate) fn load(&self) -> Option<State> {
        serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()
    }

    pub(crate) fn save(&self, state: &State) -> Result<(), DebianError> {
        let bytes = serde_json::to_vec(state).expect("a record is plain data");
        write_atomic(&self.path, &bytes).map_err(DebianError::file("write", &self.path))
    }
}

impl State {
    /// Whether the archive was asked recently enough. A check in the future (the clock was set back) is not.
    pub(crate) fn is_fresh(&self, now: u64, max_age: Duration) -> bool {
        now.checked_sub(self.checked).is_some_and(|age| age < max_age.as_secs())
    }
}
