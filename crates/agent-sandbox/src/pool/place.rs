//! Where the state of pools lies.

use std::io::ErrorKind;
use std::path::PathBuf;

use abx_core::Home;
use abx_core::fs::{Lock, replace};
use abx_image::Digest;
use abx_reference::Reference;
use serde::{Deserialize, Serialize};

use super::Pool;
use crate::{Context, Error};

/// `pool.json`. Only the keeper writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) reference: String,
    pub(super) size: u64,
    pub(super) keeper: u32,
    pub(super) error: Option<String>,
}

/// The directory of one pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
}

impl Place {
    /// The place of the pool of a reference, as [`absolute`] writes it.
    pub(super) fn of(home: &Home, reference: &str) -> Self {
        let digest = Digest::of(reference.as_bytes());
        Self { dir: home.pools().join(&digest.hex()[..20]) }
    }

    /// All there are.
    pub(super) fn all(home: &Home) -> Vec<Self> {
        let entries = std::fs::read_dir(home.pools()).into_iter().flatten().flatten();
        let mut places: Vec<Self> =
            entries.map(|entry| Self { dir: entry.path() }).filter(|place| place.dir.is_dir()).collect();
        places.sort_by(|one, other| one.dir.cmp(&other.dir));
        places
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.dir.join("keeper.sock")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.dir.join("keeper.log")
    }

    /// Sandboxes that wait and are `fingerprint`.
    pub(super) fn ready(&self, fingerprint: &str) -> PathBuf {
        self.dir.join("ready").join(fingerprint)
    }

    pub(super) fn read(&self) -> Option<Record> {
        serde_json::from_slice(&std::fs::read(self.dir.join("pool.json")).ok()?).ok()
    }

    pub(super) fn write(&self, record: &Record) -> std::io::Result<()> {
        replace(&self.dir.join("pool.json"), &serde_json::to_vec(record)?)
    }

    pub(super) fn is_kept(&self) -> bool {
        Lock::is_held(&self.lock())
    }

    /// How it is now; `None` where nothing is known of it.
    pub(super) fn look(&self) -> Option<Pool> {
        let record = self.read()?;
        let kinds = std::fs::read_dir(self.dir.join("ready")).into_iter().flatten().flatten();
        let ready =
            kinds.map(|kind| std::fs::read_dir(kind.path()).map_or(0, Iterator::count)).sum::<usize>();
        let kept = self.is_kept();
        Some(Pool {
            reference: record.reference,
            size: record.size,
            ready: if kept { ready as u64 } else { 0 },
            keeper: kept.then_some(record.keeper),
            error: record.error,
        })
    }
}

/// The reference as it is from any folder: what is local, by its whole path.
pub(super) fn absolute(context: &Context, reference: &str) -> Result<String, Error> {
    let parsed = Reference::parse(reference).map_err(abx_source::SourceError::from)?;
    let Reference::Local(_) = &parsed else { return Ok(parsed.to_string()) };
    let path = reference.strip_prefix("file:").unwrap_or(reference);
    let path = match (path.strip_prefix("~/"), &context.user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => context.cwd.join(path),
    };
    let path = path.canonicalize().map_err(Error::package_file(&path))?;
    Ok(path.display().to_string())
}

/// Names the pools whose keeper is gone, and removes what they have left where `remove`.
pub(crate) fn clean(home: &Home, remove: bool) -> Result<Vec<String>, Error> {
    let mut left = Vec::new();
    for place in Place::all(home) {
        if place.is_kept() {
            continue;
        }
        let name = place.read().map_or_else(|| place.dir.display().to_string(), |record| record.reference);
        left.push(format!("the pool of {name}, whose keeper is gone"));
        if remove {
            remove_unkept(&place)?;
        }
    }
    Ok(left)
}

/// Removes the directory of a pool that nobody keeps, and that nobody begins to.
pub(super) fn remove_unkept(place: &Place) -> Result<(), Error> {
    let path = place.lock();
    let lock = match Lock::try_exclusive(&path) {
        // Its keeper, or another who found it unkept, was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        result => result.map_err(Error::state(&path))?,
    };
    match lock.map(|_lock| std::fs::remove_dir_all(&place.dir)) {
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => Err(Error::state(&place.dir)(error)),
        _ => Ok(()),
    }
}
