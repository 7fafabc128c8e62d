//! Which sandboxes there are.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::Home;
use abx_core::fs::Lock;
use rustix::fs::{FlockOperation, flock};

use crate::{Ended, EngineError, Record, SandboxId, State};

/// A sandbox and the directory of its state.
#[derive(Clone, Debug)]
pub struct Found {
    pub dir: PathBuf,
    pub record: Record,
}

/// Every sandbox that is ready, getting so or stopped, those in pools too. Those whose monitor is gone and whose files
/// are not kept are left out.
pub fn list(home: &Home) -> Result<Vec<Found>, EngineError> {
    Ok(entries(home)?.into_iter().filter_map(|(_, dir)| found(dir)).collect())
}

/// Finds a sandbox by its id, a unique prefix of it, or its name. A name goes before a prefix. One that waits in a pool
/// is not found.
///
/// # Errors
/// E2009 where none or several fit.
pub fn find(home: &Home, which: &str) -> Result<Found, EngineError> {
    // A name may look like an id.
    if let Some(id) = SandboxId::parse(which)
        && let Some(found) = found(dir_of(home, &id))
        && !found.record.pooled
    {
        return Ok(found);
    }
    let mut live = list(home)?;
    live.retain(|found| !found.record.pooled);
    if let Some(named) = live.iter().find(|found| found.record.settings.name.as_deref() == Some(which)) {
        return Ok(named.clone());
    }
    let mut fitting =
        live.into_iter().filter(|found| !which.is_empty() && found.record.id.as_str().starts_with(which));
    match (fitting.next(), fitting.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(two)) => {
            let mut ids = vec![one.record.id, two.record.id];
            ids.extend(fitting.map(|found| found.record.id));
            Err(EngineError::Ambiguous { which: which.to_owned(), ids })
        }
        _ => Err(EngineError::no_sandbox(home, which)),
    }
}

/// What is kept of sandboxes that ended, latest first.
pub fn list_ended(home: &Home) -> Result<Vec<Ended>, EngineError> {
    let dir = home.ended();
    let entries = match std::fs::read_dir(&dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| EngineError::State { path: dir.clone(), source })?,
    };
    let mut ended: Vec<Ended> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok())
        .collect();
    ended.sort_by_key(|ended: &Ended| std::cmp::Reverse(ended.ended));
    Ok(ended)
}

/// The last sandbox that ended and had this id, this name, or an id that begins so.
pub fn find_ended(home: &Home, which: &str) -> Option<Ended> {
    let fits = |ended: &Ended| {
        ended.id.as_str() == which
            || ended.name.as_deref() == Some(which)
            || (which.len() >= 4 && ended.id.as_str().starts_with(which))
    };
    list_ended(home).ok()?.into_iter().find(fits)
}

/// The end of the log of a sandbox that ended; the file is missing where it had none.
pub fn ended_log(home: &Home, id: &SandboxId) -> PathBuf {
    home.ended().join(format!("{id}.log"))
}

/// Name of the file with what the creator wants kept.
pub(crate) const TEMPLATE: &str = "template.json";

/// What the creator of a sandbox wanted kept with it.
pub fn template(home: &Home, id: &SandboxId) -> Result<String, EngineError> {
    let path = dir_of(home, id).join(TEMPLATE);
    std::fs::read_to_string(&path).map_err(EngineError::state(&path))
}

/// Directory of a sandbox's state.
pub fn dir_of(home: &Home, id: &SandboxId) -> PathBuf {
    home.sandboxes().join(id.as_str())
}

/// Every entry of the state directory whose name is an id, live or not.
pub(crate) fn entries(home: &Home) -> Result<Vec<(SandboxId, PathBuf)>, EngineError> {
    let dir = home.sandboxes();
    let entries = match std::fs::read_dir(&dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|source| EngineError::State { path: dir.clone(), source })?,
    };
    Ok(entries
        .filter_map(Result::ok)
        .filter_map(|entry| Some((SandboxId::parse(entry.file_name().to_str()?)?, entry.path())))
        .collect())
}

/// Whether the monitor (or the creator, before it) still holds the lock. The lock is never taken by asking.
pub(crate) fn is_live(dir: &Path) -> bool {
    Lock::is_held(&dir.join("lock"))
}

/// Takes the lock of an entry whose holder is gone; `None` where somebody holds it, or the entry is gone.
pub(crate) fn seize(dir: &Path) -> Option<Lock> {
    let path = dir.join("lock");
    loop {
        let file = File::open(&path).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Whoever held it may have removed the entry meanwhile.
            let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
            let is_there = id(path.metadata().ok()?) == id(file.metadata().ok()?);
            return is_there.then(|| Lock::inherited(file));
        }
        if Lock::is_held(&path) {
            return None;
        }
        // Somebody was just asking whether it is held.
    }
}

/// Waits until a monitor that is about to end has ended, but not for ever; whether it has.
pub(crate) async fn until_dead(dir: &Path, patience: Duration) -> bool {
    const PAUSE: Duration = Duration::from_millis(2);
    let end = tokio::time::Instant::now() + patience;
    while is_live(dir) {
        if tokio::time::Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
    true
}

/// The sandbox in `dir`, as it is now.
fn found(dir: PathBuf) -> Option<Found> {
    let live = is_live(&dir);
    let mut record = Record::read(&dir)?;
    match (live, record.state) {
        (false, _) if !record.kept => return None,
        (false, State::Stopped) => {}
        (false, _) => record.stop(record.lost()),
        // Its new monitor has the lock, and has not said so yet.
        (true, State::Stopped) => record.state = State::Starting,
        (true, State::Running | State::Paused) if record.kept && !is_served(&dir) => {
            record.state = State::Starting;
        }
        (true, _) => {}
    }
    Some(Found { dir, record })
}

/// Whether the monitor that wrote the record listens: its own death leaves the socket's file behind.
fn is_served(dir: &Path) -> bool {
    // The path of the socket itself may be too long for an address.
    let Ok(dir) = File::open(dir) else { return false };
    UnixStream::connect(format!("/proc/self/fd/{}/control.sock", dir.as_raw_fd())).is_ok()
}
