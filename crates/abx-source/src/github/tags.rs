//! The tags of a repository, remembered: `store/pins/<host>/<owner>/<repo>/%tags.json`.
//!
//! No ref is called so, since a `%` in a ref's file name is followed by two hexadecimal digits. One list serves every
//! range and every sub-directory; so none needs a pin of its own, and none can be given another one's.

use std::path::PathBuf;
use std::time::Duration;

use abx_core::fs::write_atomic;
use serde::{Deserialize, Serialize};

use super::GithubError;
use super::cache::{is_commit, is_young};

/// The file's name.
pub(crate) const FILE: &str = "%tags.json";

/// A tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tag {
    pub(super) name: String,
    /// Of the commit.
    pub(super) sha: String,
    /// Whether `sha` is that of a tag object, which leads to the commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_object: bool,
}

impl Tag {
    pub(super) fn new(name: String, commit: String) -> Self {
        Self { name, sha: commit, is_object: false }
    }

    /// The commit, where no question is needed to tell it.
    pub(super) fn commit(&self) -> Option<&str> {
        (!self.is_object).then_some(self.sha.as_str())
    }
}

/// The question that a list is the answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Asked {
    /// The first page of tags, where there was no other.
    FirstPage,
    /// All of them in one answer.
    MatchingRefs,
    /// All pages; nothing less tells whether they have changed.
    Pages,
}

/// All tags of a repository at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TagList {
    pub(super) tags: Vec<Tag>,
    pub(super) asked: Asked,
    pub(super) etag: Option<String>,
    /// Seconds since 1970.
    pub(super) checked: u64,
    /// When the repository was seen to have neither branch nor tag called `latest`.
    #[serde(default)]
    pub(super) without_latest: Option<u64>,
}

impl TagList {
    pub(super) fn is_fresh(&self, now: u64, ttl: Duration) -> bool {
        is_young(self.checked, now, ttl)
    }
}

/// Where a repository's list is kept.
pub(super) struct TagFile {
    path: PathBuf,
}

impl TagFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// What was known last; a file that makes no sense is none.
    pub(super) fn read(&self) -> Option<TagList> {
        let list: TagList = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
        list.tags.iter().all(|tag| is_commit(&tag.sha)).then_some(list)
    }

    pub(super) fn write(&self, list: &TagList) -> Result<(), GithubError> {
        let bytes = serde_json::to_vec(list).map_err(std::io::Error::from);
        bytes.and_then(|bytes| write_atomic(&self.path, &bytes)).map_err(GithubError::io("write", &self.path))
    }
}
