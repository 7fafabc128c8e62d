//! Clearing what killed processes left.

use std::io;
use std::path::Path;

use abx_core::fs::{Staging, sweep_staging};

use super::ImageStore;
use crate::ImageError;

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
        let layers = self.layers();
        let half = self.sweep_half(&layers).map_err(ImageError::store("sweep", &layers))?;
        Ok(Swept { staging, half })
    }

    /// The cheap part of [`ImageStore::sweep`]: abandoned staging directories only. Returns their number.
    pub fn sweep_staging(&self) -> Result<usize, ImageError> {
        let parent = self.staging();
        sweep_staging(&parent).map_err(ImageError::store("sweep", &parent))
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
