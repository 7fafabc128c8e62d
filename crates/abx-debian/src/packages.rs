//! Fetching and unpacking the packages of a root at the same time.

use std::sync::Arc;

use abx_core::Progress;
use abx_core::progress::{self, Unit};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::Semaphore;

use crate::deb822;
use crate::download::{Downloads, Wanted, blocking};
use crate::error::DebianError;
use crate::rooted::Rooted;
use crate::slim::PathRules;
use crate::unpack::{Unpacked, unpack};

/// Packages fetched at once.
const PARALLEL: usize = 8;

/// One package to install.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) wanted: Wanted,
}

/// Fetches and unpacks `packages` into `root`, several at once; the result is in the order their
/// directories count in: `base-files`, which lays out the root, then by name.
///
/// When it returns, also with an error, nothing writes into `root` any more.
pub(crate) async fn unpack_all(
    downloads: &Downloads,
    packages: &[Package],
    root: &Arc<Rooted>,
    rules: &'static PathRules,
    progress: &dyn Progress,
) -> Result<Vec<Unpacked>, DebianError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let unpacking = Arc::new(Semaphore::new(cores));
    let result = fetch_and_unpack(downloads, packages, root, rules, progress, &unpacking).await;
    // Every running unpack holds a permit.
    let _idle = unpacking.acquire_many(u32::try_from(cores).unwrap_or(u32::MAX)).await;
    let mut unpacked = result?;
    unpacked.sort_by(|left, right| {
        (left.name != "base-files", &left.name).cmp(&(right.name != "base-files", &right.name))
    });
    Ok(unpacked)
}

async fn fetch_and_unpack(
    downloads: &Downloads,
    packages: &[Package],
    root: &Arc<Rooted>,
    rules: &'static PathRules,
    progress: &dyn Progress,
    unpacking: &Arc<Semaphore>,
) -> Result<Vec<Unpacked>, DebianError> {
    let total = packages.iter().map(|package| package.wanted.checksum.size).sum();
    let task = progress::start(progress, format!("{} packages", packages.len()), Some(total), Unit::Bytes);
    let done = {
        // The largest first: the last one to arrive is then a small one. Owned, because a future over
        // borrowed items cannot move between threads.
        let mut order = packages.to_vec();
        order.sort_by_key(|package| std::cmp::Reverse(package.wanted.checksum.size));
        let task = &task;
        let fetched = stream::iter(order)
            .map(|package| async move {
                let bytes = downloads.verified(&package.wanted, task).await;
                (package, bytes)
            })
            .buffer_unordered(PARALLEL);
        let unpacked = fetched.map(|(package, bytes)| unpack_one(package, bytes, root, rules, unpacking));
        // All at once as far as this line goes: the permits bound them, and fetching goes on meanwhile.
        unpacked.buffer_unordered(packages.len().max(1)).try_collect::<Vec<_>>().await?
    };
    task.finish(format!("{} packages", done.len()));
    Ok(done)
}

async fn unpack_one(
    package: Package,
    bytes: Result<Vec<u8>, DebianError>,
    root: &Arc<Rooted>,
    rules: &'static PathRules,
    unpacking: &Arc<Semaphore>,
) -> Result<Unpacked, DebianError> {
    let bytes = bytes?;
    let permit = Arc::clone(unpacking).acquire_owned().await;
    let (root, name) = (Arc::clone(root), package.name.clone());
    let unpacked = blocking(move || {
        let unpacked = unpack(&root, &name, &bytes, rules);
        drop(permit);
        unpacked
    })
    .await?;
    let names = |field| deb822::field(&unpacked.control, field);
    if names("Package") != Some(&package.name) || names("Version") != Some(&package.version) {
        let reason = "it is another package or version than the archive says".to_owned();
        return Err(DebianError::Package { package: package.name, reason });
    }
    Ok(unpacked)
}
