//! Removes what crashed runs left: only what our own state records or names, and only what no live process owns.
//!
//! Liveness is the entry's lock alone (see [`crate::create`]): it is there before an entry can be seen, and it
//! falls with the last process that holds it. So this is safe beside running creates.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

use abx_core::Home;
use abx_core::fs::{Lock, replace, sweep_staging};
use abx_isolate::Leftover;

use crate::create::making;
use crate::registry::{dir_of, ended_log, entries, is_live, seize};
use crate::{Cause, EndReason, Ended, EngineError, Record, SandboxId};

/// How many ended sandboxes are remembered.
const REMEMBERED: usize = 200;

/// Names everything left behind, and removes it where `remove`. A sandbox that is stopped is not: only what its last
/// run has left is.
pub fn clean(home: &Home, remove: bool) -> Result<Vec<String>, EngineError> {
    let mut left = Vec::new();
    for (id, dir) in entries(home)? {
        // One that has ended since it was listed is no leftover.
        if is_live(&dir) || !dir.exists() {
            continue;
        }
        if Record::read(&dir).is_some_and(|record| record.kept) {
            left.extend(traces_of_stopped(&id, &dir, remove)?);
            continue;
        }
        left.push(format!("sandbox {id}, whose monitor is gone"));
        if remove {
            remove_dead(home, &id, None);
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

/// What the host still has of the last run of a sandbox that is kept.
fn traces_of_stopped(id: &SandboxId, dir: &Path, remove: bool) -> Result<Vec<String>, EngineError> {
    let ours = traces(id);
    let there: Vec<Leftover> =
        abx_isolate::leftovers(&[])?.into_iter().filter(|leftover| ours.contains(leftover)).collect();
    if remove && !there.is_empty() {
        // Whoever starts it again has the lock, and removes them.
        let Some(_lock) = seize(dir) else { return Ok(Vec::new()) };
        for leftover in &there {
            abx_isolate::remove(leftover)?;
        }
    }
    Ok(there.iter().map(|leftover| format!("{leftover} of sandbox {id}, which is stopped")).collect())
}

fn traces(id: &SandboxId) -> [Leftover; 2] {
    [
        Leftover::Cgroups { name: id.to_string() },
        Leftover::Interface { name: abx_isolate::interface_name(id.as_str()) },
    ]
}

/// Removes what a run of a sandbox has left on the host; processes that the kernel has not ended yet are killed.
pub(crate) fn remove_traces(id: &SandboxId) -> Result<(), EngineError> {
    Ok(traces(id).iter().try_for_each(abx_isolate::remove)?)
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
/// one, nor for one that is kept or gone already.
pub(crate) fn remove_dead(home: &Home, id: &SandboxId, cause: Option<Cause>) {
    let dir = dir_of(home, id);
    let record = Record::read(&dir);
    if record.as_ref().is_some_and(|record| record.kept) {
        return;
    }
    if let Some(_lock) = seize(&dir) {
        remove_seized(
            home,
            id,
            cause.or(record.map(|record| record.lost())).unwrap_or(EndReason::MonitorLost.into()),
        );
    }
}

/// Removes all there is of a sandbox whose lock the caller has taken, kept or not.
pub(crate) fn remove_seized(home: &Home, id: &SandboxId, cause: Cause) {
    let ended = Record::read(&dir_of(home, id)).map(|record| record.ended(cause));
    // The daemon dies with its monitor; a process that the kernel has not yet ended must not hold the cgroup. An entry
    // whose traces could not all be removed stays, for the next try.
    if remove_traces(id).is_ok() {
        forget(home, id, ended);
    }
}

/// Sees to it that the entry in `dir` outlives the host's power: its files are on the disk, and so are their names.
pub(crate) fn keep(home: &Home, dir: &Path) -> std::io::Result<()> {
    for name in [crate::registry::TEMPLATE, "disk.ext4"] {
        File::open(dir.join(name))?.sync_all()?;
    }
    for directory in [dir, &home.sandboxes(), home.root()] {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// Removes the entry and remembers the end. The entry goes by rename first: nobody sees half of one.
pub(crate) fn forget(home: &Home, id: &SandboxId, ended: Option<Ended>) {
    if let Some(ended) = ended {
        keep_log(home, id);
        remember(home, &ended);
    }
    let hidden = home.sandboxes().join(format!(".{id}"));
    // Without it clean-up would take an entry that is on its way out for half a one.
    let _removing = Lock::shared(&making(home));
    if std::fs::rename(dir_of(home, id), &hidden).is_ok() {
        let _ = std::fs::remove_dir_all(hidden);
    }
}

/// Bytes of a log that stay when its sandbox has ended.
const LOG_TAIL: u64 = 64 << 10;

/// Keeps the last whole lines of the log.
fn keep_log(home: &Home, id: &SandboxId) {
    let tail = || -> std::io::Result<Vec<u8>> {
        let mut log = File::open(dir_of(home, id).join("log.jsonl"))?;
        let length = log.metadata()?.len();
        let start = length.saturating_sub(LOG_TAIL);
        log.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        log.take(LOG_TAIL).read_to_end(&mut bytes)?;
        if start > 0 {
            let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
            bytes.drain(..line);
        }
        Ok(bytes)
    };
    if let Ok(bytes) = tail()
        && !bytes.is_empty()
    {
        let _ = std::fs::create_dir_all(home.ended());
        let _ = std::fs::write(ended_log(home, id), bytes);
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
    let is_record = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_record).collect();
    paths.sort_by_key(|path| {
        path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    });
    for path in &paths[..paths.len().saturating_sub(REMEMBERED)] {
        let _ = std::fs::remove_file(path.with_extension("log"));
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
