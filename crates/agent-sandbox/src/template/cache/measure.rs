//! What entries occupy on disk.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use walkdir::WalkDir;

/// Trees measured at a time.
const PARALLEL: usize = 4;

/// The bytes below `path`, a file with several names once, and when something in it last changed. What vanishes
/// meanwhile counts nothing.
pub(super) fn measure(path: &Path) -> (u64, Option<u64>) {
    let (mut bytes, mut newest, mut seen) = (0, None, HashSet::new());
    for metadata in WalkDir::new(path).into_iter().flatten().filter_map(|entry| entry.metadata().ok()) {
        if metadata.nlink() == 1 || metadata.is_dir() || seen.insert((metadata.dev(), metadata.ino())) {
            bytes += metadata.blocks() * 512;
        }
        newest = newest.max(metadata.modified().ok().map(seconds));
    }
    (bytes, newest)
}

/// [`measure`] of many.
pub(super) fn measure_all<P: AsRef<Path> + Sync>(paths: &[P]) -> Vec<(u64, Option<u64>)> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(vec![(0, None); paths.len()]));
    std::thread::scope(|scope| {
        for _ in 0..PARALLEL.min(paths.len()) {
            scope.spawn(|| {
                while let Some((index, path)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    paths.get(index).map(|path| (index, path))
                } {
                    let measured = measure(path.as_ref());
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[index] = measured;
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
