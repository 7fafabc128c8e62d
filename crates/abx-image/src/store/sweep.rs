//! Clearing what killed processes left.

use std::io;
use std::path::Path;
use std::time::Duration;

use abx_core::fs::{Staging, sweep_staging};

use super::ImageStore;
use crate::ImageError;

/// How long the beginning of a blob is kept for whoever tries again.
const PARTIAL_AGE: Duration = Duration::from_secs(3 * 24 * 3600);

/// What a sweep removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Staging directories whose makers are gone.
    pub staging: usize,
    /// Layers that do not count.
    pub half: usize,
}

impl ImageStore {
    /// Removes abandoned staging directories, and layers without a record or with one that a power cut has
    /// made worthless. Safe beside running processes: a live maker's staging is locked, and a layer appears
    /// in its place together with its record.
    pub fn sweep(&self) -> Result<Swept, ImageError> {
        let staging = self.sweep_staging()?;
        self.sweep_partial();
        let layers = self.layers();
        let half = self.sweep_half(&layers).map_err(ImageError::store("sweep", &layers))?;
        Ok(Swept { staging, half })
    }

    /// The cheap part of [`ImageStore::sweep`]: abandoned staging directories only. Returns their number.
    pub fn sweep_staging(&self) -> Result<usize, ImageError> {
        let parent = self.staging();
        sweep_staging(&parent).map_err(ImageError::store("sweep", &parent))
    }

    /// Removes beginnings of blobs that nobody has gone on with for long. One in use is written to all the time.
    fn sweep_partial(&self) {
        let entries = std::fs::read_dir(self.home().store("partial")).into_iter().flatten().flatten();
        for entry in entries {
            let age = entry.metadata().and_then(|metadata| metadata.modified());
            let age = age.ok().and_then(|modified| modified.elapsed().ok());
            if age.is_some_and(|age| age > PARTIAL_AGE) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn sweep_half(&self, layers: &Path) -> io::Result<usize> {
        let entries = match std::fs::read_dir(layers) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            entries => entries?,
        };
        let mut swept = 0;
        for entry in entries {
            let path = entry?.path();
            if self.record(&path)?.is_some() {
                continue;
            }
            // Out of its place first: a directory half removed must not meet a new one being published.
            let staging = Staging::new(&self.staging())?;
            match std::fs::rename(&path, staging.path().join("half")) {
                Ok(()) => swept += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(swept)
    }
}
