//! Makes a sandbox usable, whatever it does: one that is paused runs on, one that is stopped is started anew.

use std::time::Duration;

use abx_core::fs::Lock;
use tokio::time::{Instant, sleep};

use crate::create::Engine;
use crate::registry::{dir_of, is_live, seize};
use crate::start::{Request, Starting, lock_name};
use crate::{EngineError, Record, SandboxId, State, control};

/// How long somebody else may hold what a start needs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Returns when the sandbox runs. Of several who ask at once, one starts it and the others wait for that.
///
/// A sandbox that ran already is left alone. One that was paused or stopped gets `timeout` seconds from now, where given,
/// else its own timeout anew. Started anew it has its files, name, ports and settings; no process, no memory.
///
/// # Errors
/// E2009 where it is gone; what [`create`](crate::create::create) reports where it does not start: it stays stopped.
pub async fn resume(engine: &Engine, id: &SandboxId, timeout: Option<u64>) -> Result<Record, EngineError> {
    let dir = dir_of(&engine.home, id);
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = seize(&dir) {
            return start(engine, id, lock, timeout).await;
        }
        match Record::read(&dir).map(|record| record.state) {
            None if !dir.exists() => return Err(EngineError::no_sandbox(&engine.home, id.as_str())),
            Some(State::Running | State::Paused) => {
                match control::resume(&engine.home, id, timeout).await {
                    Ok(record) => return Ok(record),
                    // It has just ended: the lock is about to fall, or has.
                    Err(EngineError::MonitorSilent { .. }) if Instant::now() < end => {}
                    Err(error) => return Err(error),
                }
            }
            // Another starts it, or it is being stopped.
            _ if Instant::now() >= end => return Err(EngineError::MonitorSilent { id: id.clone() }),
            _ => {}
        }
        sleep(PAUSE).await;
    }
}

async fn start(
    engine: &Engine,
    id: &SandboxId,
    lock: Lock,
    timeout: Option<u64>,
) -> Result<Record, EngineError> {
    let dir = dir_of(&engine.home, id);
    let gone = || EngineError::no_sandbox(&engine.home, id.as_str());
    let record = Record::read(&dir).filter(|record| record.kept).ok_or_else(gone)?;
    let name_lock = match record.settings.name.as_deref() {
        Some(name) => Some(wait_for_name(engine, name).await?),
        None => None,
    };
    let starting = Starting::spawn(engine, &dir, &Request::Again { timeout }, lock, name_lock)?;
    match starting.ready(&dir).await {
        Ok((record, _)) => Ok(record),
        Err(error) => {
            // The monitor tells first and puts away what it began.
            let end = Instant::now() + PATIENCE;
            while is_live(&dir) && Instant::now() < end {
                sleep(PAUSE).await;
            }
            Err(error)
        }
    }
}

/// The name is this sandbox's: whoever else has its lock is about to find that out.
async fn wait_for_name(engine: &Engine, name: &str) -> Result<Lock, EngineError> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(lock) = lock_name(&engine.home, name)? {
            return Ok(lock);
        }
        if Instant::now() >= end {
            return Err(EngineError::NameTaken { name: name.to_owned() });
        }
        sleep(PAUSE).await;
    }
}
