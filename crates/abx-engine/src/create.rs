//! Starts a sandbox: makes its entry, starts its monitor, waits until it is ready.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use abx_core::fs::{Lock, spread};
use abx_core::{Code, Fault, Home};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt;

use crate::{EngineError, Record, SandboxId, SandboxSettings, monitor, registry};

/// What every sandbox of this user shares.
#[derive(Clone, Debug)]
pub struct Engine {
    pub home: Home,
    /// The executable that serves as monitor: it must call [`monitor::main`] for [`monitor::ENTRY`].
    pub exe: PathBuf,
}

/// How long a monitor may take to clean up after a sandbox that did not get ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the monitor says once, on its report pipe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Ready(Box<Record>),
    Failed { code: String, message: String, hints: Vec<String>, details: Vec<String> },
}

/// Starts a sandbox and returns when it is ready.
///
/// Dropping the future, or the end of this process, before that ends the sandbox.
///
/// # Errors
/// E2000, E2010, E2011 and whatever the launch reports. Nothing of the sandbox is left then.
pub async fn create(engine: &Engine, settings: &SandboxSettings) -> Result<Record, EngineError> {
    let name_lock = settings.name.as_deref().map(|name| claim_name(&engine.home, name)).transpose()?;
    let id = SandboxId::random().map_err(EngineError::state("/dev/urandom"))?;
    let (dir, lock) = make_entry(&engine.home, &id)?;
    let (report, report_end) =
        pipe_with(PipeFlags::CLOEXEC).map_err(|error| EngineError::Monitor { source: error.into() })?;
    let handed = [lock.file().as_fd(), report_end.as_fd()];
    let monitor = spawn_monitor(engine, &dir, settings, &handed, name_lock.as_ref());
    // From here the monitor alone holds them: the end of the pipe and the fall of the lock are its end.
    drop((lock, name_lock, report_end));
    let result = match monitor {
        Ok(()) => read_report(report, &dir).await,
        Err(source) => Err(EngineError::Monitor { source }),
    };
    if result.is_err() {
        // The monitor tells first and cleans up then.
        registry::until_dead(&dir, PATIENCE).await;
        crate::clean::remove_dead(&engine.home, &id, None);
    }
    result
}

/// Makes the entry under a hidden name, locks it, and lets it appear. The lock is there from the first moment
/// that others can see it.
fn make_entry(home: &Home, id: &SandboxId) -> Result<(PathBuf, Lock), EngineError> {
    let hidden = home.sandboxes().join(format!(".{id}"));
    let failed = || EngineError::state(&hidden);
    if !home.sandboxes().exists() {
        std::fs::create_dir_all(home.sandboxes()).map_err(failed())?;
        spread(&home.sandboxes()).map_err(failed())?;
    }
    // Clean-up looks at hidden entries only while nobody makes one.
    let _making = Lock::shared(&making(home)).map_err(failed())?;
    let private =
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&hidden);
    private.map_err(failed())?;
    let lock = Lock::exclusive(&hidden.join("lock")).map_err(failed())?;
    let dir = registry::dir_of(home, id);
    std::fs::rename(&hidden, &dir).map_err(failed())?;
    Ok((dir, lock))
}

/// The lock that is shared by those who make or remove an entry.
pub(crate) fn making(home: &Home) -> PathBuf {
    home.sandboxes().join(".making")
}

/// A name is taken by a lock that the monitor holds as long as it lives.
fn claim_name(home: &Home, name: &str) -> Result<Lock, EngineError> {
    let valid = name.len() <= 63
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    if !valid {
        return Err(EngineError::NameInvalid { name: name.to_owned() });
    }
    let path = home.store("locks").join(format!("name-{name}"));
    Lock::try_exclusive(&path)
        .map_err(EngineError::state(&path))?
        .ok_or_else(|| EngineError::NameTaken { name: name.to_owned() })
}

fn spawn_monitor(
    engine: &Engine,
    dir: &Path,
    settings: &SandboxSettings,
    handed: &[BorrowedFd<'_>; 2],
    name_lock: Option<&Lock>,
) -> std::io::Result<()> {
    let mut request = File::from(memfd_create("abx-request", MemfdFlags::CLOEXEC)?);
    request.write_all(&serde_json::to_vec(settings)?)?;
    std::io::Seek::rewind(&mut request)?;
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
        .stdin(request)
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

/// Keeps the monitor until it has ended, so that a long-lived caller collects no zombies: each start reaps those
/// that have ended since the last.
fn reap_later(monitor: Child) {
    static MONITORS: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let mut monitors = MONITORS.lock().unwrap_or_else(PoisonError::into_inner);
    monitors.retain_mut(|monitor| matches!(monitor.try_wait(), Ok(None)));
    monitors.push(monitor);
}

async fn read_report(pipe: OwnedFd, dir: &Path) -> Result<Record, EngineError> {
    let mut pipe = tokio::net::unix::pipe::Receiver::from_owned_fd(pipe)
        .map_err(|source| EngineError::Monitor { source })?;
    let mut text = Vec::new();
    pipe.read_to_end(&mut text).await.map_err(|source| EngineError::Monitor { source })?;
    match serde_json::from_slice(&text) {
        Ok(Report::Ready(record)) => Ok(*record),
        Ok(Report::Failed { code, message, hints, details }) => {
            let code =
                Code::ALL.iter().copied().find(|known| known.as_str() == code).unwrap_or(Code::CreateFailed);
            Err(EngineError::Reported { code, message, hints, details })
        }
        Err(_) => {
            let log = std::fs::read_to_string(dir.join("monitor.log")).unwrap_or_default();
            Err(EngineError::MonitorDied { log: log.lines().map(str::to_owned).collect() })
        }
    }
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
