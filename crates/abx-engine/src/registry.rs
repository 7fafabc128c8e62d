//! Which sandboxes there are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::Home;
use abx_core::fs::Lock;

use crate::{Ended, EngineError, Record, SandboxId};

/// A live sandbox and the directory of its state.
#[derive(Clone, Debug)]
pub struct Found {
    pub dir: PathBuf,
    pub record: Record,
}

/// Every live sandbox that is ready or getting so. Those whose monitor is gone are left out.
pub fn list_live(home: &Home) -> Result<Vec<Found>, EngineError> {
    Ok(entries(home)?.into_iter().filter(|(_, dir)| is_live(dir)).filter_map(|(_, dir)| found(dir)).collect())
}

/// Finds a live sandbox by its id, a unique prefix of it, or its name. A name goes before a prefix.
///
/// # Errors
/// E2009 where none or several fit.
pub fn find(home: &Home, which: &str) -> Result<Found, EngineError> {
    // A name may look like an id.
    if let Some(id) = SandboxId::parse(which)
        && let dir = dir_of(home, &id)
        && is_live(&dir)
        && let Some(found) = found(dir)
    {
        return Ok(found);
    }
    let live = list_live(home)?;
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
        .filter_map(Result::ok)
        .filter_map(|entry| serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok())
        .collect();
    ended.sort_by_key(|ended: &Ended| std::cmp::Reverse(ended.ended));
    Ok(ended)
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

fn found(dir: PathBuf) -> Option<Found> {
    Record::read(&dir).map(|record| Found { dir, record })
}
