//! What names in registries stood for: `store/tags/<digest of the name>.json`.

use std::path::PathBuf;

use abx_core::fs::write_atomic;
use abx_image::Digest;
use abx_reference::{Registry, Selector};
use serde::{Deserialize, Serialize};

use super::{RegistryError, RegistryImage, place, repository};
use crate::github::{GithubSettings, now};
use crate::{SourceContext, SourceError, kept};

/// What is remembered of a name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// `registry/repository`.
    pub(super) place: String,
    /// That was asked for, or is the highest of the range.
    pub(super) tag: Option<String>,
    pub(super) digest: String,
    /// The template that is in the image, as it was written on it.
    pub(super) lineage: Option<String>,
    /// Seconds since 1970.
    pub(super) checked: u64,
}

impl Record {
    /// Whether nobody need be asked: it is new enough, or a digest was asked for, or nobody may be.
    pub(super) fn is_believed(&self, asked: &Registry, settings: &GithubSettings) -> bool {
        // A clock that was set back makes nothing fresh.
        let age = now().checked_sub(self.checked);
        let is_fresh = asked.digest().is_some() || age.is_some_and(|age| age < settings.cache_ttl.as_secs());
        settings.offline || (is_fresh && !settings.no_cache)
    }

    pub(super) fn image(&self, asked: &Registry) -> Result<RegistryImage, SourceError> {
        let damaged = |source| RegistryError::Lineage { reference: asked.clone(), source };
        let packages = self.lineage.as_deref().map(kept::from_text).transpose().map_err(damaged)?;
        Ok(RegistryImage {
            asked: asked.clone(),
            tag: self.tag.clone(),
            digest: Some(self.digest.clone()),
            packages: packages.unwrap_or_default(),
        })
    }

    fn read(path: PathBuf) -> Option<Self> {
        let record: Self = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        Digest::parse(&record.digest).map(|_| record)
    }
}

/// What a name stood for; of one with a digest, what is known of that digest under any name.
pub(super) fn recall(asked: &Registry, context: &SourceContext) -> Option<Record> {
    Record::read(path(asked, context)).or_else(|| {
        let digest = asked.digest()?;
        let mut same = records(asked, context).into_iter().filter(|record| record.digest == digest);
        same.next().map(|record| Record { tag: asked.tag().map(str::to_owned), ..record })
    })
}

/// What is known by other names of the same repository: the tag, or the highest of the range.
pub(super) fn alike(asked: &Registry, context: &SourceContext) -> Option<Record> {
    let records = records(asked, context);
    let of = |record: &Record| record.tag.clone().unwrap_or_else(|| "latest".to_owned());
    let tags: Vec<String> = records.iter().map(of).collect();
    let tag = match asked.range() {
        Some(range) => Selector::Range(range.clone()).choose(tags.iter().map(String::as_str))?,
        None if asked.digest().is_some() => return None,
        None => asked.tag().unwrap_or("latest"),
    };
    // The newest account of it.
    let same = records.into_iter().filter(|record| of(record) == tag);
    same.max_by_key(|record| record.checked)
}

pub(super) fn remember(
    asked: &Registry,
    record: &Record,
    context: &SourceContext,
) -> Result<(), SourceError> {
    let path = path(asked, context);
    let bytes = serde_json::to_vec(record).map_err(std::io::Error::from);
    bytes.and_then(|bytes| write_atomic(&path, &bytes)).map_err(SourceError::io("write", &path))
}

/// All that is known of a repository.
fn records(asked: &Registry, context: &SourceContext) -> Vec<Record> {
    let Ok(name) = repository(asked) else { return Vec::new() };
    let place = place(&name);
    let entries = std::fs::read_dir(context.home.store("tags")).into_iter().flatten().flatten();
    let records = entries.filter_map(|entry| Record::read(entry.path()));
    records.filter(|record| record.place == place).collect()
}

/// The three schemes are one protocol, so they share what is known.
fn path(asked: &Registry, context: &SourceContext) -> PathBuf {
    let name = crate::digest::of_text(&asked.image());
    context.home.store("tags").join(format!("{}.json", name.trim_start_matches("sha256:")))
}
