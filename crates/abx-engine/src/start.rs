//! Starts a monitor process for an entry, and hears from it.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use abx_core::fs::Lock;
use abx_core::{Code, Fault, Home};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

use crate::create::Engine;
use crate::{EngineError, Record, SandboxSettings, monitor, registry};

/// What a monitor is to do with its entry; on its standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Request {
    /// Start what was never there.
    Fresh {
        settings: Box<SandboxSettings>,
        /// It waits in a pool, and ends when nobody reads its report's pipe any more.
        pooled: bool,
    },
    /// Start what the record and the disk of the entry are of.
    Again {
        /// Seconds, in place of the settings' own.
        timeout: Option<u64>,
    },
}

/// What the monitor says once, as a line on its report pipe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Ready(Box<Record>),
    Failed { code: String, message: String, hints: Vec<String>, details: Vec<String> },
}

/// A monitor that is starting its sandbox.
pub(crate) struct Starting {
    report: BufReader<Receiver>,
}

/// The other end of a monitor's report. Closing it ends a sandbox that waits in a pool; its end is the end of the wait.
#[derive(Debug)]
pub struct Tie(BufReader<Receiver>);

impl Tie {
    /// Returns when the sandbox waits no more: it was claimed, or is gone.
    pub async fn loosed(mut self) {
        let mut rest = Vec::new();
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut self.0, &mut rest).await;
    }
}

impl Starting {
    /// Starts the monitor of the entry in `dir`. From here it alone holds the locks: their fall is its end.
    pub(crate) fn spawn(
        engine: &Engine,
        dir: &Path,
        request: &Request,
        lock: Lock,
        name_lock: Option<Lock>,
    ) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Monitor { source };
        let (report, report_end) =
            pipe_with(PipeFlags::CLOEXEC).map_err(|error| EngineError::Monitor { source: error.into() })?;
        let handed = [lock.file().as_fd(), report_end.as_fd()];
        spawn_monitor(engine, dir, request, &handed, name_lock.as_ref()).map_err(failed)?;
        let report = Receiver::from_owned_fd(report).map_err(failed)?;
        Ok(Self { report: BufReader::new(report) })
    }

    /// Waits until the sandbox is ready.
    pub(crate) async fn ready(mut self, dir: &Path) -> Result<(Record, Tie), EngineError> {
        let mut line = String::new();
        let read = self.report.read_line(&mut line).await;
        read.map_err(|source| EngineError::Monitor { source })?;
        match serde_json::from_str(&line) {
            Ok(Report::Ready(record)) => Ok((*record, Tie(self.report))),
            Ok(Report::Failed { code, message, hints, details }) => {
                let code = Code::ALL.iter().copied().find(|known| known.as_str() == code);
                let code = code.unwrap_or(Code::CreateFailed);
                Err(EngineError::Reported { code, message, hints, details })
            }
            Err(_) => {
                let log = std::fs::read_to_string(dir.join("monitor.log")).unwrap_or_default();
                Err(EngineError::MonitorDied { log: log.lines().map(str::to_owned).collect() })
            }
        }
    }
}

/// A name is taken by a lock that the monitor holds as long as it lives, and by a sandbox that is stopped.
pub(crate) fn claim_name(home: &Home, name: &str) -> Result<Lock, EngineError> {
    let valid = name.len() <= 63
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    if !valid {
        return Err(EngineError::NameInvalid { name: name.to_owned() });
    }
    let taken = || EngineError::NameTaken { name: name.to_owned() };
    let lock = lock_name(home, name)?.ok_or_else(taken)?;
    // Under the lock: one that begins to live has to wait for it.
    let is_taken = registry::list(home)?
        .iter()
        .any(|found| found.record.settings.name.as_deref() == Some(name) && found.record.kept);
    if is_taken { Err(taken()) } else { Ok(lock) }
}

/// The lock of a name; `None` where another holds it.
pub(crate) fn lock_name(home: &Home, name: &str) -> Result<Option<Lock>, EngineError> {
    let path = home.store("locks").join(format!("name-{name}"));
    Lock::try_exclusive(&path).map_err(EngineError::state(&path))
}

fn spawn_monitor(
    engine: &Engine,
    dir: &Path,
    request: &Request,
    handed: &[BorrowedFd<'_>; 2],
    name_lock: Option<&Lock>,
) -> std::io::Result<()> {
    let errors = File::create(dir.join("monitor.log"))?;
    let mut fds: Vec<i32> = handed.iter().map(AsRawFd::as_raw_fd).collect();
    fds.extend(name_lock.map(|lock| lock.file().as_raw_fd()));
    let mut command = Command::new(&engine.exe);
    command
        .arg0("abx-monitor")
        .arg(monitor::ENTRY)
        .arg(engine.home.root())
        .arg(dir)
        .args(fds.iter().map(i32::to_string))
        // It lives as long as the sandbox: tokens of the caller's are not its business.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .current_dir("/")
        .stdin(request_file(request)?)
        .stdout(Stdio::null())
        .stderr(errors);
    // SAFETY: between fork and exec only `fcntl` and `setsid` run, on descriptors that stay open until the
    // spawn has returned; neither allocates.
    unsafe {
        command.pre_exec(move || {
            for fd in &fds {
                fcntl_setfd(BorrowedFd::borrow_raw(*fd), FdFlags::empty())?;
            }
            // A session of its own: no terminal signal reaches it.
            rustix::process::setsid()?;
            Ok(())
        });
    }
    reap_later(command.spawn()?);
    Ok(())
}

fn request_file(request: &Request) -> std::io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("abx-request", MemfdFlags::CLOEXEC)?);
    file.write_all(&serde_json::to_vec(request)?)?;
    std::io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Keeps the monitor until it has ended, so that a long-lived caller collects no zombies: each start reaps those
/// that have ended since the last.
fn reap_later(monitor: Child) {
    static MONITORS: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let mut monitors = MONITORS.lock().unwrap_or_else(PoisonError::into_inner);
    monitors.retain_mut(|monitor| matches!(monitor.try_wait(), Ok(None)));
    monitors.push(monitor);
}

impl Report {
    /// The failure as it travels.
    pub(crate) fn failed(error: &dyn Fault) -> Self {
        Self::Failed {
            code: error.code().to_string(),
            message: chain(error),
            hints: error.hints(),
            details: error.details(),
        }
    }
}

/// The message with its causes, `a: b: c`.
fn chain(error: &dyn Fault) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
