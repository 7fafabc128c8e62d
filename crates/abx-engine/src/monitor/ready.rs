//! When a sandbox counts as ready: its daemon serves, and the template's probe has passed.

use std::fs::File;
use std::time::Duration;

use abx_client::Client;
use abx_isolate::Running;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use crate::settings::{Readiness, ReadinessCheck};
use crate::{EngineError, SandboxSettings};

/// Seconds the daemon inside may take to serve; it takes a few milliseconds.
const GUEST_PATIENCE: u64 = 10;

/// How many of the startup command's last lines a failure shows.
const LINES: usize = 20;

/// Returns when the sandbox is ready.
///
/// # Errors
/// E2010 with the startup command's last output. [`EngineError::CreatorGone`] as soon as nobody waits any more.
pub(super) async fn wait(
    settings: &SandboxSettings,
    running: &Running,
    guest: &mut UnixStream,
    client: &Client,
    creator: Option<&File>,
) -> Result<(), EngineError> {
    guest_serves(guest).await?;
    let Some(readiness) = &settings.readiness else { return Ok(()) };
    let limit = Duration::from_secs_f64(readiness.timeout);
    let outcome = tokio::select! {
        outcome = timeout(limit, passes(readiness, settings, running, client)) => outcome,
        () = gone(creator) => return Err(EngineError::CreatorGone),
    };
    let reason = match outcome {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(EngineError::NotReady { reason, .. })) => reason,
        Ok(Err(other)) => return Err(other),
        Err(_) => format!("not ready after {} s: {}", readiness.timeout, describe(&readiness.check)),
    };
    let output = last_lines(client).await;
    Err(match limit_hit(settings, running) {
        Some((limit, number)) => EngineError::Limit { limit, number, reason, output },
        None => {
            let refused = running.refusals().latest.into_iter().next_back().map(Box::new);
            EngineError::NotReady { reason, refused, output }
        }
    })
}

/// What [`EngineError::Limit`] calls them.
pub(super) const MEMORY: &str = "memory";
const DISK: &str = "disk";

/// The limit whose hit explains that something has failed, and its number.
pub(super) fn limit_hit(settings: &SandboxSettings, running: &Running) -> Option<(&'static str, u64)> {
    if running.cgroups().stats().oom_kills > 0 {
        return Some((MEMORY, settings.memory));
    }
    disk_is_full(running.pid()).then_some((DISK, settings.disk))
}

/// Whether the root of process 1 has no room for a small file.
fn disk_is_full(pid: u32) -> bool {
    const SMALL: u64 = 64 << 10;
    rustix::fs::statvfs(format!("/proc/{pid}/root/"))
        .is_ok_and(|status| status.f_bavail * status.f_frsize < SMALL || status.f_favail == 0)
}

async fn guest_serves(guest: &mut UnixStream) -> Result<(), EngineError> {
    let mut line = [0; 6];
    match timeout(Duration::from_secs(GUEST_PATIENCE), guest.read_exact(&mut line)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(EngineError::GuestDied),
        Err(_) => Err(EngineError::GuestSilent { seconds: GUEST_PATIENCE }),
    }
}

/// Tries until the check passes, or the startup command has failed.
async fn passes(
    readiness: &Readiness,
    settings: &SandboxSettings,
    running: &Running,
    client: &Client,
) -> Result<(), EngineError> {
    let end = Instant::now() + Duration::from_secs_f64(readiness.timeout);
    loop {
        let passed = match &readiness.check {
            ReadinessCheck::Tcp(port) => listens(running.pid(), *port),
            ReadinessCheck::Exec(command) => {
                let left = end.saturating_duration_since(Instant::now());
                client.exec_probe(command.as_str(), Some(&settings.user), left).await?.exit_code == 0
            }
        };
        if passed {
            return Ok(());
        }
        if settings.startup_command.is_some() {
            let startup = client.startup().await?;
            if startup.failed() {
                let status = startup.exit_code.unwrap_or_default();
                let reason = format!("the startup command ended with status {status}");
                return Err(EngineError::NotReady { reason, refused: None, output: Vec::new() });
            }
        }
        sleep(Duration::from_secs_f64(readiness.interval)).await;
    }
}

/// Whether something in the network namespace of `pid` listens on the port. Looked up instead of connected to:
/// a connection could disturb the service.
fn listens(pid: u32, port: u16) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        let table = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        table.lines().skip(1).any(|line| is_listener(line, port))
    })
}

/// Reads a line of /proc/net/tcp (proc(5)): `sl local_address rem_address st …`, state 0A is LISTEN.
fn is_listener(line: &str, port: u16) -> bool {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let local = fields.next().and_then(|address| address.rsplit(':').next());
    let state = fields.nth(1);
    state == Some("0A") && local.is_some_and(|text| u16::from_str_radix(text, 16) == Ok(port))
}

/// Returns when the reader of the creator's pipe is gone.
pub(super) async fn gone(creator: Option<&File>) {
    let pipe = creator.and_then(|file| file.try_clone().ok());
    // SAFETY: the descriptor belongs to this file and is open as long as the registration lives.
    let register = |pipe| unsafe { AsyncFd::register_with_interest(pipe, Interest::ERROR) }.ok();
    let Some(pipe) = pipe.and_then(register) else {
        return std::future::pending().await;
    };
    let _ = pipe.ready(Interest::ERROR).await;
}

fn describe(check: &ReadinessCheck) -> String {
    match check {
        ReadinessCheck::Tcp(port) => format!("nothing listens on port {port}"),
        ReadinessCheck::Exec(command) => format!("`{command}` does not succeed"),
    }
}

/// The last lines the startup command printed; none where the daemon does not say.
async fn last_lines(client: &Client) -> Vec<String> {
    let tail = client.startup().await.map(|startup| startup.tail).unwrap_or_default();
    let lines: Vec<String> = tail.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(LINES)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::is_listener;

    #[test]
    fn only_a_listening_socket_on_that_port_counts() {
        let listening = "   0: 0100007F:22B8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000";
        let connected = "   1: 0100007F:22B8 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000";
        assert!(is_listener(listening, 8888));
        assert!(!is_listener(connected, 8888));
        assert!(!is_listener(listening, 8889));
        assert!(!is_listener("", 8888));
    }
}
