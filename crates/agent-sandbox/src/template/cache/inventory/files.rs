//! What is not made of images and packages: downloads, logs, leavings.

use std::path::{Path, PathBuf};

use abx_core::fs::Lock;

use super::super::entry::{Item, Target};
use super::super::measure::measure_all;
use super::super::{Entry, Kind};
use super::plain;
use crate::Context;

/// What lies in a folder of the home, one entry each; caches of templates are one level deeper.
pub(super) fn files(context: &Context, folder: &str, kind: Kind) -> Vec<Item> {
    let root = context.home.root().join(folder);
    let mut found: Vec<(String, PathBuf)> = named(&root);
    let own = named(&root.join("own"));
    found.retain(|(name, _)| name != "own");
    found.extend(own.into_iter().map(|(name, path)| (format!("own/{name}"), path)));
    let sizes = measure_all(&found.iter().map(|(_, path)| path).collect::<Vec<_>>());
    let item = |((name, path), (size, newest)): ((String, PathBuf), (u64, Option<u64>))| {
        let id = path.display().to_string();
        let entry = Entry { kind, used: newest, ..plain(name, size, None, id) };
        Item { entry, target: Target::Path(path) }
    };
    found.into_iter().zip(sizes).map(item).collect()
}

/// Directories of the store in the making whose makers are gone.
pub(super) fn leftovers(context: &Context) -> Vec<Item> {
    let root = context.home.store("staging");
    let abandoned = |path: &Path| !Lock::is_held(&path.with_extension("lock"));
    let found: Vec<PathBuf> = named(&root)
        .into_iter()
        .map(|(_, path)| path)
        .filter(|path| path.is_dir() && abandoned(path))
        .collect();
    let sizes = measure_all(&found);
    let item = |(path, (size, newest)): (PathBuf, (u64, Option<u64>))| {
        let entry = Entry {
            kind: Kind::Leftover,
            used: newest,
            ..plain("half an entry".to_owned(), size, None, path.display().to_string())
        };
        Item { entry, target: Target::Staging }
    };
    found.into_iter().zip(sizes).map(item).collect()
}

fn named(root: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let mut found: Vec<_> = entries
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    found.sort_unstable();
    found
}
