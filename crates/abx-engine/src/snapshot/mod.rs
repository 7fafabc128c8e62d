//! The files that a sandbox has written, as an image's layer holds them.
//!
//! Its writable layer is in the form of a layer already, but for a few things: ids on it are the host's, and what was
//! laid into the sandbox at run time has left marks. In reading order: this file (whose files, and which), [`copy`] (a
//! tree), [`attributes`] (what carries ids beside the owner).

mod attributes;
mod copy;

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use abx_core::Home;

use crate::registry::{dir_of, is_live, seize};
use crate::{EngineError, Record, SandboxId, SandboxSettings, control};

/// What a copy came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub entries: u64,
    /// Of files.
    pub bytes: u64,
    /// How long the sandbox stood still; zero for one that did not run.
    pub still: Duration,
}

/// Copies what the sandbox has written to `target`, an empty directory, in a layer's form. The sandbox stands still
/// meanwhile, so that all is of one moment; one that is stopped is not started, and cannot be.
pub async fn copy_files(home: &Home, id: &SandboxId, target: &Path) -> Result<Copied, EngineError> {
    let dir = dir_of(home, id);
    let gone = || EngineError::no_sandbox(home, id.as_str());
    // Of one that is stopped nobody else may have the disk.
    let lock = seize(&dir);
    let begun = Instant::now();
    let hold = match &lock {
        Some(_) => None,
        None if is_live(&dir) => Some(control::hold(home, id).await?),
        None => return Err(gone()),
    };
    let record = Record::read(&dir).ok_or_else(gone)?;
    let (disk, target) = (dir.join("disk.ext4"), target.to_owned());
    let copied = tokio::task::spawn_blocking(move || copy_disk(&disk, &record, &target));
    let copied = copied.await.map_err(|error| EngineError::Monitor { source: error.into() })??;
    let still = if hold.is_some() { begun.elapsed() } else { Duration::ZERO };
    drop((hold, lock));
    Ok(Copied { still, ..copied })
}

fn copy_disk(disk: &Path, record: &Record, target: &Path) -> Result<Copied, EngineError> {
    let upper = abx_isolate::open_disk(disk)?;
    let from = PathBuf::from(format!("/proc/self/fd/{}", upper.as_raw_fd()));
    let base = record.ids.map_or(0, abx_isolate::Ids::root);
    let mut copy = copy::Copy::new(base, marks(&record.settings));
    copy.root(&from, target)?;
    Ok(copy.done())
}

/// Paths where files and directories of the host were laid over the sandbox's root.
fn marks(settings: &SandboxSettings) -> Vec<PathBuf> {
    let always = ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"].map(PathBuf::from);
    let files = settings.files.iter().map(|file| file.path.clone());
    let binds = settings.binds.iter().map(|bind| bind.target.clone());
    always.into_iter().chain(files).chain(binds).collect()
}
