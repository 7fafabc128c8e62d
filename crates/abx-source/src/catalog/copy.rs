//! The copy of an index that was fetched before: `store/index/<digest of its URL>.json`.
//!
//! One file holds the text together with what it is the text of, so that no crash tears them apart and no index is
//! served in the place of another one.

use std::path::PathBuf;
use std::time::Duration;

use abx_core::Home;
use abx_core::fs::write_atomic;
use abx_image::http::reqwest::Url;
use serde::{Deserialize, Serialize};

use super::CatalogError;
use crate::digest;

/// An index as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) url: String,
    pub(super) etag: Option<String>,
    /// When it was last known to be what the other side has; seconds since 1970.
    pub(super) fetched: u64,
    pub(super) text: String,
}

impl Copy {
    /// A clock that was set back makes nothing fresh.
    pub(super) fn is_fresh(&self, now: u64, limit: Duration) -> bool {
        now.checked_sub(self.fetched).is_some_and(|age| age < limit.as_secs())
    }
}

/// Where the copy of one URL lies.
pub(super) struct Copies {
    url: String,
    path: PathBuf,
    lock: PathBuf,
}

impl Copies {
    pub(super) fn new(home: &Home, url: &Url) -> Self {
        let key = digest::of_text(url.as_str());
        let key = key.trim_start_matches("sha256:");
        Self {
            url: url.to_string(),
            path: home.store("index").join(format!("{key}.json")),
            lock: home.store("locks").join(format!("index-{key}")),
        }
    }

    /// What is damaged, or of another URL, is none.
    pub(super) fn last(&self) -> Option<Copy> {
        let copy: Copy = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
        (copy.url == self.url).then_some(copy)
    }

    pub(super) fn keep(&self, copy: &Copy) -> Result<(), CatalogError> {
        let bytes = serde_json::to_vec(copy).map_err(std::io::Error::from);
        bytes
            .and_then(|bytes| write_atomic(&self.path, &bytes))
            .map_err(CatalogError::io("write", &self.path))
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.lock.clone()
    }
}
