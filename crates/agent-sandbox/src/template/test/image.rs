//! `image`: how much it is, and what does not belong into it.

use std::path::{Path, PathBuf};

use abx_build::Built;
use abx_spec::suite::ImageCheck;
use walkdir::WalkDir;

use super::finding::{Finding, Unseen};
use crate::{Context, Error};

const MB: u64 = 1_000_000;

/// What package tools keep, by whose it is.
const OF_SYSTEM: [&str; 4] = [
    "var/lib/apt/lists",
    "var/cache/apt/archives",
    "var/cache/apt/pkgcache.bin",
    "var/cache/apt/srcpkgcache.bin",
];
const OF_USERS: [&str; 9] = [
    ".cache/pip",
    ".cache/uv",
    ".cache/pypoetry",
    ".cache/yarn",
    ".cache/go-build",
    ".npm/_cacache",
    ".cargo/registry",
    ".local/share/pnpm/store",
    "go/pkg/mod/cache",
];

/// Looks at the layers themselves: what a test has done to its sandbox does not count.
pub(super) async fn check(context: &Context, built: &Built, check: &ImageCheck) -> Result<Finding, Unseen> {
    let mut finding = Finding::default();
    let store = context.store();
    if let Some(most) = &check.max_size {
        let size = store.image_size(&built.image).map_err(Error::from)?.div_ceil(MB);
        if size > most.value {
            finding.miss(&most.place, "size", format!("at most {} MB", most.value), format!("{size} MB"));
        }
    }
    if let Some(caches) = check.caches.as_ref().filter(|caches| !caches.value) {
        let layers: Vec<PathBuf> = built.image.layers.iter().map(|layer| store.layer_path(layer)).collect();
        let found = tokio::task::spawn_blocking(move || kept_by_tools(&layers)).await;
        let found = found.map_err(|error| Error::Interrupted { source: error.into() })?;
        if !found.is_empty() {
            let shown = found.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
            finding.miss(&caches.place, "caches", "none".to_owned(), shown);
            finding.output.extend(found);
        }
    }
    Ok(finding)
}

/// Files of package tools that are in one of the layers, below the image's root.
fn kept_by_tools(layers: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    for layer in layers {
        let homes = std::fs::read_dir(layer.join("home")).into_iter().flatten().flatten();
        let homes = homes.map(|home| home.path()).chain([layer.join("root")]);
        let of_users = homes.flat_map(|home| OF_USERS.map(|path| home.join(path)));
        for place in OF_SYSTEM.iter().map(|path| layer.join(path)).chain(of_users) {
            let files = WalkDir::new(&place).into_iter().flatten();
            let files = files.filter(|entry| entry.file_type().is_file() && entry.file_name() != "lock");
            found.extend(files.map(|file| below(layer, file.path())));
        }
    }
    found
}

fn below(layer: &Path, path: &Path) -> String {
    format!("/{}", path.strip_prefix(layer).unwrap_or(path).display())
}

#[cfg(test)]
mod tests {
    use super::kept_by_tools;

    #[test]
    fn what_tools_keep_is_found_and_their_programs_are_not() {
        let dir = tempfile::tempdir().expect("tempdir");
        let kept = ["home/user/.npm/_cacache/index/a", "root/.cache/pip/b", "var/lib/apt/lists/c"];
        for path in kept.iter().chain(&["usr/lib/pip/d", "var/cache/apt/archives/lock"]) {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, "").expect("write");
        }
        let mut found = kept_by_tools(&[dir.path().to_owned()]);
        found.sort();
        assert_eq!(found, kept.map(|path| format!("/{path}")));
    }
}
