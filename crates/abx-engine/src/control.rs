//! What one may ask of a live sandbox's monitor, and of its limits.
//!
//! One JSON object a line each way over `control.sock`: `{"verb":"kill"}`, then `{"ok":true}` or
//! `{"error":"…"}` when it is done.

use std::path::Path;
use std::time::Duration;

use abx_core::Home;
use abx_isolate::Cgroups;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::registry::{dir_of, is_live, until_dead};
use crate::{EndReason, EngineError, Record, SandboxId};

/// A request to the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase")]
pub(crate) enum Request {
    Kill,
    Pause,
    Resume,
}

/// Its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    Ok(bool),
    Error(String),
}

/// How long a monitor may take to end a sandbox before it is ended without it.
const PATIENCE: Duration = Duration::from_secs(15);

/// Ends a sandbox; returns when nothing of it is left. Works when its monitor hangs or is gone, too.
pub async fn kill(home: &Home, id: &SandboxId) -> Result<(), EngineError> {
    let dir = dir_of(home, id);
    // No answer comes from a monitor that is ending already, or that hangs.
    let _ = tokio::time::timeout(PATIENCE, ask(&dir, Request::Kill)).await;
    if !until_dead(&dir, PATIENCE / 3).await {
        end_monitor(&dir);
        until_dead(&dir, PATIENCE / 3).await;
    }
    crate::clean::remove_dead(home, id, Some(EndReason::Killed));
    Ok(())
}

/// Freezes a sandbox.
pub async fn pause(home: &Home, id: &SandboxId) -> Result<(), EngineError> {
    verb(home, id, Request::Pause).await
}

/// Lets a frozen sandbox go on.
pub async fn resume(home: &Home, id: &SandboxId) -> Result<(), EngineError> {
    verb(home, id, Request::Resume).await
}

/// How often limits of a sandbox were hit so far; to be compared before and after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitHits {
    /// Processes the kernel killed for memory.
    pub memory_kills: u64,
    /// Processes and threads the kernel refused to start.
    pub refused_forks: u64,
}

/// What the kernel has counted of a sandbox; zeros for one that is gone.
pub fn limit_hits(id: &SandboxId) -> LimitHits {
    let Ok(cgroups) = Cgroups::open(id.as_str()) else { return LimitHits::default() };
    let stats = cgroups.stats();
    LimitHits { memory_kills: stats.oom_kills, refused_forks: stats.pids_refused }
}

async fn verb(home: &Home, id: &SandboxId, request: Request) -> Result<(), EngineError> {
    match tokio::time::timeout(PATIENCE, ask(&dir_of(home, id), request)).await {
        Ok(Ok(Answer::Ok(_))) => Ok(()),
        Ok(Ok(Answer::Error(reason))) => Err(EngineError::MonitorRefused { reason }),
        Ok(Err(_)) | Err(_) => Err(EngineError::MonitorSilent { id: id.clone() }),
    }
}

async fn ask(dir: &Path, request: Request) -> std::io::Result<Answer> {
    let mut stream = abx_client::socket::connect(&dir.join("control.sock")).await?;
    let mut line = serde_json::to_vec(&request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).await?;
    Ok(serde_json::from_str(&answer)?)
}

/// Ends a monitor that does not answer. Its pid is its own as long as it holds the lock.
fn end_monitor(dir: &Path) {
    let pid = Record::read(dir).and_then(|record| Pid::from_raw(record.monitor.cast_signed()));
    let Some(Ok(pidfd)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return };
    if is_live(dir) {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }
}
