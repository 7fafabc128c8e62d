//! Looks after a ready sandbox until there is a reason to end it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use abx_client::Client;
use abx_isolate::{Cgroups, Running};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::health::Checks;
use super::idle::Idle;
use super::plan::Plan;
use crate::control::{Answer, Request};
use crate::{EndReason, EngineError, Health, Record, State};

/// What the monitor holds beside the process itself.
pub(super) struct Parts {
    pub client: Client,
    /// Our end of the daemon's control socket; while it is open the daemon stays.
    pub guest: UnixStream,
    /// What is asked of this monitor.
    pub asked: mpsc::Receiver<Asked>,
}

impl Parts {
    pub(super) fn new(dir: &Path, plan: Plan) -> Result<Self, EngineError> {
        let failed = || EngineError::state(dir);
        tokio::spawn(plan.log.take_over());
        plan.control.set_nonblocking(true).map_err(failed())?;
        plan.guest.set_nonblocking(true).map_err(failed())?;
        let control = UnixListener::from_std(plan.control).map_err(failed())?;
        let (ask, asked) = mpsc::channel(8);
        tokio::spawn(serve(control, ask));
        Ok(Self {
            client: Client::new(dir.join("guest.sock")),
            guest: UnixStream::from_std(plan.guest).map_err(failed())?,
            asked,
        })
    }
}

/// A request and where its answer goes.
pub(super) type Asked = (Request, UnixStream);

/// Why a sandbox ends, and who waits until nothing of it is left.
pub(super) struct End {
    pub reason: EndReason,
    killer: Option<std::os::unix::net::UnixStream>,
}

impl End {
    /// An end that nobody asked for.
    pub(super) fn of(reason: EndReason) -> Self {
        Self { reason, killer: None }
    }

    fn killed(killer: UnixStream) -> Self {
        Self { reason: EndReason::Killed, killer: killer.into_std().ok() }
    }

    /// Tells the killer that it is done.
    pub(super) fn answer(self) {
        let Some(mut stream) = self.killer else { return };
        // A few bytes fit the socket's buffer; a killer that is gone needs no answer.
        let _ = serde_json::to_writer(&mut stream, &Answer::Ok(true));
        let _ = stream.write_all(b"\n");
    }
}

/// Returns when a sandbox that is not ready yet is to end.
pub(super) async fn killed(asked: &mut mpsc::Receiver<Asked>) -> End {
    while let Some((request, stream)) = asked.recv().await {
        match request {
            Request::Kill => return End::killed(stream),
            Request::Pause | Request::Resume => answer(stream, Err("it is still starting".to_owned())).await,
        }
    }
    std::future::pending().await
}

/// Returns why the sandbox is to end.
pub(super) async fn supervise(dir: &Path, running: &Running, mut parts: Parts, record: &mut Record) -> End {
    let crashed = || End::of(EndReason::Crashed);
    // SAFETY: the borrow keeps the descriptor open as long as the registration lives.
    let Ok(exited) = (unsafe { AsyncFd::register(running.pidfd()) }) else { return crashed() };
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return crashed() };
    let mut checks = Checks::new(&record.settings, parts.client.clone());
    let end = far_or(record.settings.timeout);
    let mut idle = Idle::new(record.settings.idle_timeout, parts.client, running.activity().cloned());
    let freezer = running.cgroups();
    loop {
        tokio::select! {
            _ = exited.readable() => return crashed(),
            _ = terminated.recv() => return End::of(EndReason::Killed),
            () = sleep_until(end) => return End::of(EndReason::Timeout),
            Some((request, stream)) = parts.asked.recv() => match request {
                Request::Kill => return End::killed(stream),
                Request::Pause => answer(stream, set_paused(dir, freezer, record, true)).await,
                Request::Resume => {
                    answer(stream, set_paused(dir, freezer, record, false)).await;
                    idle.touch();
                }
            },
            // A frozen one cannot answer.
            health = checks.changed(), if record.state == State::Running => set_health(dir, record, health),
            () = idle.expired(), if record.state == State::Running => {
                if !record.settings.persistent {
                    return End::of(EndReason::Idle);
                }
                if set_paused(dir, freezer, record, true).is_err() {
                    idle.touch();
                }
            }
        }
    }
}

/// `seconds` from now; for 0 a century.
fn far_or(seconds: u64) -> Instant {
    const CENTURY: u64 = 100 * 365 * 24 * 3600;
    Instant::now() + Duration::from_secs(if seconds == 0 { CENTURY } else { seconds })
}

/// Bytes of a request.
const LONGEST_REQUEST: u64 = 1024;

/// Reads one request from each connection. A slow, silent or endless one holds up nobody.
async fn serve(control: UnixListener, ask: mpsc::Sender<Asked>) {
    loop {
        let Ok((stream, _)) = control.accept().await else {
            // No descriptor is free; one will be.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let ask = ask.clone();
        tokio::spawn(async move {
            let mut reader = BufReader::new(stream).take(LONGEST_REQUEST);
            let mut line = String::new();
            if timeout(Duration::from_secs(5), reader.read_line(&mut line)).await.is_ok()
                && let Ok(request) = serde_json::from_str(&line)
            {
                let _ = ask.send((request, reader.into_inner().into_inner())).await;
            }
        });
    }
}

async fn answer(mut stream: UnixStream, result: Result<(), String>) {
    let answer = result.map_or_else(Answer::Error, |()| Answer::Ok(true));
    if let Ok(mut line) = serde_json::to_vec(&answer) {
        line.push(b'\n');
        // The asker may be gone; what it asked for is done all the same.
        let _ = timeout(Duration::from_secs(1), stream.write_all(&line)).await;
    }
}

fn set_paused(dir: &Path, freezer: &Cgroups, record: &mut Record, paused: bool) -> Result<(), String> {
    let result = if paused { freezer.freeze() } else { freezer.thaw() };
    result.map_err(|error| error.to_string())?;
    record.state = if paused { State::Paused } else { State::Running };
    record.write(dir).map_err(|error| error.to_string())
}

fn set_health(dir: &Path, record: &mut Record, health: Health) {
    record.health = health;
    // A record that cannot be written now is written at the next change; the sandbox itself is not affected.
    let _ = record.write(dir);
}
