//! Removes what crashed runs left: only what our own state records or names, and only what no live process owns.
//!
//! Liveness is the entry's lock alone (see [`crate::create`]): it is there before an entry can be seen, and it
//! falls with the last process that holds it. So this is safe beside running creates.

use std::path::Path;
use std::time::SystemTime;

use abx_core::Home;
use abx_core::fs::{Lock, replace, sweep_staging};
use abx_isolate::Leftover;

use crate::create::making;
use crate::registry::{dir_of, entries, is_live};
use crate::{EndReason, Ended, EngineError, Record, SandboxId};

/// How many ended sandboxes are remembered.
const REMEMBERED: usize = 200;

/// Names everything left behind, and removes it where `remove`.
pub fn clean(home: &Home, remove: bool) -> Result<Vec<String>, EngineError> {
    let mut left = Vec::new();
    for (id, dir) in entries(home)? {
        // One that has ended since it was listed is no leftover.
        if !is_live(&dir) && dir.exists() {
            left.push(format!("sandbox {id}, whose monitor is gone"));
            if remove {
                remove_dead(home, &id, None);
            }
        }
    }
    left.extend(hidden_entries(home, remove)?);
    for leftover in step_leftovers()? {
        if remove {
            abx_isolate::remove(&leftover)?;
        }
        left.push(leftover.to_string());
    }
    left.extend(staging(home, remove)?);
    Ok(left)
}

/// What build steps left whose process is gone. Theirs are the names `step<pid>-…`; those of other sandboxes,
/// which may be another user's, are not looked at. A number that means nobody here may be a process of another pid
/// namespace that shares our control groups, so a group that has processes is never left over.
fn step_leftovers() -> Result<Vec<Leftover>, EngineError> {
    let is_dead = |name: &str| {
        let owner = name.strip_prefix("step").and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    };
    Ok(abx_isolate::leftovers(&[])?
        .into_iter()
        .filter(|leftover| match leftover {
            Leftover::Cgroups { name } => is_dead(name) && is_empty(name),
            Leftover::Interface { name } => name.strip_prefix("abx").is_some_and(is_dead),
        })
        .collect())
}

/// Counted by the kernel, over all pid namespaces.
fn is_empty(name: &str) -> bool {
    abx_isolate::Cgroups::open(name).is_ok_and(|cgroups| cgroups.stats().pids.unwrap_or(0) == 0)
}

/// Removes all there is of a sandbox whose lock has fallen, and remembers why it ended. Does nothing for a live
/// one, nor for one that is gone already.
pub(crate) fn remove_dead(home: &Home, id: &SandboxId, reason: Option<EndReason>) {
    let dir = dir_of(home, id);
    if !dir.exists() || is_live(&dir) {
        return;
    }
    let reason = reason.unwrap_or(EndReason::MonitorLost);
    let ended = Record::read(&dir).map(|record| record.ended(reason));
    // The daemon dies with its monitor; a process that the kernel has not yet ended must not hold the cgroup.
    let left = [
        Leftover::Cgroups { name: id.to_string() },
        Leftover::Interface { name: abx_isolate::interface_name(id.as_str()) },
    ];
    // An entry whose traces could not all be removed stays, for the next try.
    if left.iter().all(|leftover| abx_isolate::remove(leftover).is_ok()) {
        forget(home, id, ended);
    }
}

/// Removes the entry and remembers the end. The entry goes by rename first: nobody sees half of one.
pub(crate) fn forget(home: &Home, id: &SandboxId, ended: Option<Ended>) {
    if let Some(ended) = ended {
        remember(home, &ended);
    }
    let hidden = home.sandboxes().join(format!(".{id}"));
    // Without it clean-up would take an entry that is on its way out for half a one.
    let _removing = Lock::shared(&making(home));
    if std::fs::rename(dir_of(home, id), &hidden).is_ok() {
        let _ = std::fs::remove_dir_all(hidden);
    }
}

/// What cannot be remembered is no reason to keep a sandbox.
fn remember(home: &Home, ended: &Ended) {
    let dir = home.ended();
    let _ = std::fs::create_dir_all(&dir);
    if let Ok(json) = serde_json::to_vec(ended) {
        let _ = replace(&dir.join(format!("{}.json", ended.id)), &json);
    }
    // One end in many looks at all of them.
    if ended.id.as_str().ends_with(['a', 'b']) {
        forget_oldest(&dir);
    }
}

fn forget_oldest(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort_by_key(|path| {
        path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    });
    for path in &paths[..paths.len().saturating_sub(REMEMBERED)] {
        let _ = std::fs::remove_file(path);
    }
}

/// Entries that were about to appear or to vanish when their process ended.
fn hidden_entries(home: &Home, remove: bool) -> Result<Vec<String>, EngineError> {
    let dir = home.sandboxes();
    if !dir.exists() {
        return Ok(Vec::new());
    }
    // Whoever makes or removes an entry is done before we get this. A look at another user's state goes without.
    let _nobody_makes_one = match Lock::exclusive(&making(home)) {
        Err(error) if remove => return Err(EngineError::state(&dir)(error)),
        lock => lock,
    };
    let entries = std::fs::read_dir(&dir).map_err(EngineError::state(&dir))?;
    let mut left = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_hidden && path.is_dir() && !Lock::is_held(&path.join("lock")) {
            left.push(format!("half an entry, {}", path.display()));
            if remove {
                remove_directory(&path).map_err(EngineError::state(&path))?;
            }
        }
    }
    Ok(left)
}

/// Removes a directory that its own monitor may be removing at the same time.
fn remove_directory(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Half-made layers, images and disks.
fn staging(home: &Home, remove: bool) -> Result<Vec<String>, EngineError> {
    let dir = home.store("staging");
    if !remove {
        return Ok(Vec::new());
    }
    let swept = sweep_staging(&dir).map_err(EngineError::state(&dir))?;
    Ok((swept > 0).then(|| format!("{swept} half-made entries of the store")).into_iter().collect())
}
