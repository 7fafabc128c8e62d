//! What every way of making layers has in common: the store, single flight on a layer, and the wish to stop.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abx_core::fs::Lock;
use abx_core::{Event, Progress};
use abx_image::{LayerId, LayerRecord, StagedLayer};

use super::{Builder, Outcome};
use crate::error::BuildError;
use crate::view::View;

/// How often a wait looks whether it shall end.
const PAUSE: Duration = Duration::from_millis(50);

/// A builder at work for one caller. Its threads share it.
pub(crate) struct Workshop<'a> {
    pub(crate) builder: &'a Builder,
    pub(crate) progress: &'a dyn Progress,
    /// The caller's wish.
    stop: &'a AtomicBool,
    /// That of a part of the build that has failed.
    is_given_up: AtomicBool,
    /// Whether what killed builds left has been looked for.
    is_swept: AtomicBool,
}

impl<'a> Workshop<'a> {
    pub(crate) fn new(builder: &'a Builder, progress: &'a dyn Progress, stop: &'a AtomicBool) -> Self {
        Self {
            builder,
            progress,
            stop,
            is_given_up: AtomicBool::new(false),
            is_swept: AtomicBool::new(false),
        }
    }

    /// Makes the layer `key`, unless it is there or another process that was at it has made it meanwhile.
    pub(crate) fn layer(
        &self,
        key: &LayerId,
        title: &str,
        make: impl FnOnce() -> Result<StagedLayer, BuildError>,
    ) -> Result<Outcome, BuildError> {
        self.check_stop()?;
        if self.builder.store.has_layer(key) {
            return Ok(Outcome::Cached);
        }
        let _lock = self.lock(key, title)?;
        if self.builder.store.has_layer(key) {
            return Ok(Outcome::Cached);
        }
        // What killed builds left may fill the disk: only now that something is made anyway.
        if !self.is_swept.swap(true, Ordering::Relaxed) {
            self.builder.store.sweep_staging()?;
        }
        let staged = make()?;
        self.check_stop()?;
        staged.publish(key.clone(), &LayerRecord::new(title))?;
        Ok(Outcome::Built)
    }

    /// Whether a layer has anything in it.
    pub(crate) fn has_effect(&self, key: &LayerId) -> Result<bool, BuildError> {
        let directory = self.builder.store.layer_path(key);
        let mut entries = std::fs::read_dir(&directory).map_err(BuildError::state("read", &directory))?;
        Ok(entries.next().is_some())
    }

    /// Layers, bottom first, seen as one.
    pub(crate) fn view(&self, layers: &[LayerId]) -> View {
        View::new(layers.iter().map(|layer| self.builder.store.layer_path(layer)).collect())
    }

    fn lock(&self, key: &LayerId, title: &str) -> Result<Lock, BuildError> {
        let mut is_told = false;
        loop {
            if let Some(lock) = self.builder.store.try_lock_layer(key)? {
                return Ok(lock);
            }
            if !std::mem::replace(&mut is_told, true) {
                self.progress.event(Event::Note(format!("waiting for another build that makes `{title}`")));
            }
            self.pause()?;
        }
    }

    /// Waits for something that one process may use at a time.
    pub(crate) fn lock_file(&self, path: &Path) -> Result<Lock, BuildError> {
        loop {
            if let Some(lock) = Lock::try_exclusive(path).map_err(BuildError::state("lock", path))? {
                return Ok(lock);
            }
            self.pause()?;
        }
    }

    /// Waits a moment, for something another process does.
    fn pause(&self) -> Result<(), BuildError> {
        self.check_stop()?;
        std::thread::sleep(PAUSE);
        Ok(())
    }

    /// Stops every other thread that works here.
    pub(crate) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check_stop(&self) -> Result<(), BuildError> {
        let stops = [self.stop, &self.is_given_up];
        if stops.iter().any(|stop| stop.load(Ordering::Relaxed)) { Err(BuildError::Stopped) } else { Ok(()) }
    }
}
