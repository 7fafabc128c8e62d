//! Repositories and archives.

use std::path::Path;

use abx_source::{Cached, CachedOrigin};

use super::super::entry::{Item, Target};
use super::super::measure::{measure_all, seconds};
use super::super::{Entry, Kind};
use super::short;
use crate::{Context, Error};

/// Repositories and archives.
pub(super) fn sources(context: &Context) -> Result<Vec<Item>, Error> {
    let root = context.home.store("packages");
    let cached = abx_source::cached(&context.home).map_err(Error::state(&root))?;
    let sizes = measure_all(&cached.iter().map(|cached| &cached.path).collect::<Vec<_>>());
    Ok(cached.into_iter().zip(sizes).map(|(cached, (size, _))| source(cached, size)).collect())
}

fn source(cached: Cached, size: u64) -> Item {
    let (kind, name, origin, commit, refs) = match cached.origin {
        CachedOrigin::Repository { host, repository, commit, refs } => {
            (Kind::Repository, repository, Some(host), Some(commit), refs)
        }
        CachedOrigin::Archive { file, sha256 } => {
            let name = Path::new(&file).file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_else(|| short(&sha256).to_owned());
            (Kind::Archive, name, Some(file), None, Vec::new())
        }
    };
    let kind = if cached.made.is_some() { kind } else { Kind::Leftover };
    let entry = Entry {
        kind,
        name,
        size,
        shared: 0,
        made: cached.made,
        used: cached.used.map(seconds),
        origin,
        commit,
        refs,
        needed: None,
        id: cached.path.display().to_string(),
    };
    Item { entry, target: Target::Path(cached.path) }
}
