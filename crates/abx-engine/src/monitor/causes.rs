//! Why a sandbox that nobody ended is at its end.

use abx_client::{Client, Startup};
use abx_isolate::Running;

use super::health::Checks;
use super::ready::{MEMORY, limit_hit};
use crate::{Cause, EndReason, SandboxSettings};

/// A shell's status of what was killed.
const KILLED: u8 = 128 + 9;

/// Why process 1 is gone.
pub(super) fn death(settings: &SandboxSettings, running: &Running) -> Cause {
    match limit_hit(settings, running) {
        Some((MEMORY, limit)) => Cause::of(EndReason::Memory, limit),
        _ => EndReason::Crashed.into(),
    }
}

/// It was unhealthy for too long.
pub(super) fn unhealthy(checks: &Checks) -> Cause {
    let (failures, detail) = checks.complaint();
    Cause { detail, ..Cause::of(EndReason::Unhealthy, failures) }
}

/// A startup command that failed because of a limit takes its sandbox along: what it is for is gone, and would go
/// again. Any other end of it leaves the sandbox to whoever wants to look into it.
pub(super) async fn startup_ended(
    client: &Client,
    settings: &SandboxSettings,
    running: &Running,
) -> Option<Cause> {
    let startup = client.startup().await.ok().filter(Startup::failed)?;
    let (limit, number) = limit_hit(settings, running)?;
    let detail = startup.tail.lines().last().map(str::to_owned);
    match limit {
        // Somebody else's process may have been killed for memory, and this one have failed for another reason.
        MEMORY if startup.exit_code == Some(KILLED) => Some(Cause::of(EndReason::Memory, number)),
        MEMORY => None,
        _ => Some(Cause { detail, ..Cause::of(EndReason::Disk, number) }),
    }
}
