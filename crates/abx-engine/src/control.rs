//! What one may ask of a sandbox's monitor, and of its limits.
//!
//! One JSON object a line each way over `control.sock`: `{"verb":"kill"}`, then `{"ok":…}` with the record, or
//! `{"error":"…"}`, when it is done.

use std::path::Path;
use std::time::Duration;

use abx_core::{Egress, Home};
use abx_isolate::{Cgroups, RefusalReport};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::registry::{dir_of, is_live, seize, until_dead};
use crate::{EndReason, EngineError, PortMapping, PortRequest, Record, SandboxId};

/// A request to the monitor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase")]
pub(crate) enum Request {
    Kill,
    Pause,
    /// Nothing happens to one that runs.
    Resume {
        timeout: Option<u64>,
    },
    /// Ends everything inside and keeps the files.
    Stop,
    /// The time that is left, in seconds; `None` for ever. 0 is up at once.
    Timeout {
        seconds: Option<u64>,
    },
    /// At least so many seconds are left.
    Extend {
        seconds: u64,
    },
    /// Stands still as long as the asker keeps the connection.
    Hold,
    /// Out of the pool.
    Claim(Claim),
    /// One more port for the host to reach.
    Forward(PortRequest),
    /// What of the outside was refused.
    Refusals,
    /// Another policy for the outside.
    Egress(Egress),
}

/// What a sandbox of a pool becomes for the one who claims it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub name: Option<String>,
    /// On top of what it has.
    pub env: Vec<(String, String)>,
    /// Seconds; 0 for never.
    pub timeout: u64,
    /// Seconds; 0 for never.
    pub idle_timeout: u64,
}

/// The monitor's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// As the sandbox is now.
    Ok(Box<Record>),
    /// Where the host listens.
    Port(PortMapping),
    /// What was refused up to now.
    Refusals(RefusalReport),
    Error(String),
}

/// How long a monitor may take to end a sandbox before it is ended without it.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often a sandbox that is started again and again is ended.
const KILLS: u32 = 3;

/// Ends a sandbox; returns when nothing of it is left. Works when its monitor hangs or is gone, too.
pub async fn kill(home: &Home, id: &SandboxId) -> Result<(), EngineError> {
    let dir = dir_of(home, id);
    for _ in 0..KILLS {
        // No answer comes from a monitor that is ending already, or that hangs.
        let _ = tokio::time::timeout(PATIENCE, ask(&dir, &Request::Kill)).await;
        if !until_dead(&dir, PATIENCE / 3).await {
            end_monitor(&dir);
            until_dead(&dir, PATIENCE / 3).await;
        }
        // Where it is being started again at this moment, its new monitor has the lock.
        if let Some(_lock) = seize(&dir) {
            crate::clean::remove_seized(home, id, EndReason::Killed.into());
            return Ok(());
        }
        if !dir.exists() {
            return Ok(());
        }
    }
    Err(EngineError::MonitorSilent { id: id.clone() })
}

/// Freezes a sandbox; its clocks stand still.
pub async fn pause(home: &Home, id: &SandboxId) -> Result<Record, EngineError> {
    verb(home, id, Request::Pause).await
}

/// Lets a frozen sandbox go on; it gets `timeout` seconds from now, where given, else its own timeout anew. For one that
/// is stopped there is [`crate::resume::resume`].
pub(crate) async fn resume(home: &Home, id: &SandboxId, timeout: Option<u64>) -> Result<Record, EngineError> {
    verb(home, id, Request::Resume { timeout }).await
}

/// Ends every process of a sandbox and keeps its files: from now on it outlives its monitor, whatever its mode.
/// [`crate::resume::resume`] starts it again. Returns when nothing of it runs.
pub async fn stop(home: &Home, id: &SandboxId) -> Result<(), EngineError> {
    let dir = dir_of(home, id);
    verb(home, id, Request::Stop).await?;
    until_dead(&dir, PATIENCE).await;
    Ok(())
}

/// Sets when the timeout ends a sandbox: `seconds` from now, sooner or later than it was; 0 is now, `None` is never. For
/// one that is paused it is the time it gets when it runs on.
pub async fn set_timeout(home: &Home, id: &SandboxId, seconds: Option<u64>) -> Result<Record, EngineError> {
    verb(home, id, Request::Timeout { seconds }).await
}

/// Sees to it that a sandbox has `seconds` left at least, and never shortens its life.
pub async fn extend(home: &Home, id: &SandboxId, seconds: u64) -> Result<Record, EngineError> {
    verb(home, id, Request::Extend { seconds }).await
}

/// Takes a sandbox out of its pool. Of several who try, one gets it.
///
/// # Errors
/// [`EngineError::PoolLeft`] where another was faster, [`EngineError::MonitorSilent`] where it is gone.
pub async fn claim(home: &Home, id: &SandboxId, claim: Claim) -> Result<Record, EngineError> {
    match verb(home, id, Request::Claim(claim)).await {
        Err(EngineError::MonitorRefused { reason }) if reason == IN_NO_POOL => {
            Err(EngineError::PoolLeft { id: id.clone() })
        }
        result => result,
    }
}

/// What a monitor says whose sandbox was claimed already.
pub(crate) const IN_NO_POOL: &str = "it is in no pool";

/// Keeps a sandbox standing still until it is dropped, however that comes about.
#[derive(Debug)]
pub struct Hold {
    _connection: BufReader<UnixStream>,
}

/// Lets nothing in a sandbox move. What asks for it meanwhile waits.
pub async fn hold(home: &Home, id: &SandboxId) -> Result<Hold, EngineError> {
    let mut connection = BufReader::new(connect(home, id, &Request::Hold).await?);
    match tokio::time::timeout(PATIENCE, heard(&mut connection)).await {
        Ok(Ok(Answer::Ok(_))) => Ok(Hold { _connection: connection }),
        Ok(Ok(Answer::Error(reason))) => Err(EngineError::MonitorRefused { reason }),
        _ => Err(EngineError::MonitorSilent { id: id.clone() }),
    }
}

async fn connect(home: &Home, id: &SandboxId, request: &Request) -> Result<UnixStream, EngineError> {
    say(&dir_of(home, id), request).await.map_err(|_| EngineError::MonitorSilent { id: id.clone() })
}

/// Forwards one more port, and tells where the host listens for it.
pub async fn forward(home: &Home, id: &SandboxId, port: PortRequest) -> Result<PortMapping, EngineError> {
    match answer(home, id, &Request::Forward(port)).await? {
        Answer::Port(mapping) => Ok(mapping),
        Answer::Error(reason) => Err(EngineError::MonitorRefused { reason }),
        Answer::Ok(_) | Answer::Refusals(_) => Err(EngineError::MonitorSilent { id: id.clone() }),
    }
}

/// What a sandbox's policy for the outside has refused up to now; nothing for one that is gone or has none.
pub async fn refusals(home: &Home, id: &SandboxId) -> RefusalReport {
    match answer(home, id, &Request::Refusals).await {
        Ok(Answer::Refusals(report)) => report,
        _ => RefusalReport::default(),
    }
}

/// Replaces the policy for the outside. Connections that are open stay open.
///
/// # Errors
/// [`EngineError::MonitorRefused`] where the sandbox was started without a policy: one that allows everything will do.
pub async fn set_egress(home: &Home, id: &SandboxId, policy: Egress) -> Result<Record, EngineError> {
    verb(home, id, Request::Egress(policy)).await
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

async fn verb(home: &Home, id: &SandboxId, request: Request) -> Result<Record, EngineError> {
    match answer(home, id, &request).await? {
        Answer::Ok(record) => Ok(*record),
        Answer::Error(reason) => Err(EngineError::MonitorRefused { reason }),
        Answer::Port(_) | Answer::Refusals(_) => Err(EngineError::MonitorSilent { id: id.clone() }),
    }
}

async fn answer(home: &Home, id: &SandboxId, request: &Request) -> Result<Answer, EngineError> {
    match tokio::time::timeout(PATIENCE, ask(&dir_of(home, id), request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) | Err(_) => Err(unheard(home, id)),
    }
}

/// Why no answer comes: a sandbox that is kept may have no monitor.
fn unheard(home: &Home, id: &SandboxId) -> EngineError {
    let dir = dir_of(home, id);
    let is_stopped = !is_live(&dir) && Record::read(&dir).is_some_and(|record| record.kept);
    match is_stopped {
        true => EngineError::NotRunning { id: id.clone(), state: "stopped" },
        false => EngineError::MonitorSilent { id: id.clone() },
    }
}

async fn ask(dir: &Path, request: &Request) -> std::io::Result<Answer> {
    heard(&mut BufReader::new(say(dir, request).await?)).await
}

async fn say(dir: &Path, request: &Request) -> std::io::Result<UnixStream> {
    let mut stream = abx_client::socket::connect(&dir.join("control.sock")).await?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    Ok(stream)
}

async fn heard(stream: &mut BufReader<UnixStream>) -> std::io::Result<Answer> {
    let mut answer = String::new();
    stream.take(LONGEST_ANSWER).read_line(&mut answer).await?;
    Ok(serde_json::from_str(&answer)?)
}

/// Bytes of an answer, which holds the sandbox's environment.
const LONGEST_ANSWER: u64 = 16 << 20;

/// Ends a monitor that does not answer. Its pid is its own as long as it holds the lock.
fn end_monitor(dir: &Path) {
    let pid = Record::read(dir).and_then(|record| Pid::from_raw(record.monitor.cast_signed()));
    let Some(Ok(pidfd)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else { return };
    if is_live(dir) {
        let _ = pidfd_send_signal(pidfd, Signal::KILL);
    }
}
