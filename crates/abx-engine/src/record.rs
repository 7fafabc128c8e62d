//! What is known of a sandbox, on disk.

use std::fs::File;
use std::path::Path;

use abx_core::fs::{replace, write_durable};
use abx_isolate::Ids;
use serde::{Deserialize, Serialize};

use crate::{SandboxId, SandboxSettings};

/// `sandboxes/<id>/sandbox.json`. Only the sandbox's monitor writes it, and whoever holds the lock of one that is
/// stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: SandboxId,
    pub settings: SandboxSettings,
    /// Seconds since the epoch.
    pub created: u64,
    /// Seconds since the epoch when the timeout ends it; `None` for never, and while the clock stands still: before it
    /// is ready, paused or stopped.
    pub ends: Option<u64>,
    pub state: State,
    pub health: Health,
    pub ports: Vec<PortMapping>,
    /// Process id of the monitor.
    pub monitor: u32,
    /// Process id, on the host, of the daemon inside (process 1 there). 0 before it runs.
    pub init: u32,
    /// Whether it outlives its monitor and the host's power: persistent, and has been ready once.
    #[serde(default)]
    pub kept: bool,
    /// Why it stopped, where it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Cause>,
    /// The host ids that the files on its disk carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Ids>,
    /// Which boot of the host its monitor belongs to.
    #[serde(default)]
    pub boot: String,
    /// It waits in a pool for whoever claims it.
    #[serde(default)]
    pub pooled: bool,
}

/// What a sandbox does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Not ready yet.
    Starting,
    Running,
    /// Frozen; keeps its memory.
    Paused,
    /// Nothing of it runs; its files are kept, and whoever uses it starts it again.
    Stopped,
}

/// What the health check said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// No health check.
    None,
    /// Not checked yet.
    Starting,
    Healthy,
    Unhealthy,
}

/// A port of the sandbox and where the host reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortMapping {
    pub guest: u16,
    /// `127.0.0.1:41234`.
    pub host: std::net::SocketAddr,
}

/// Why a sandbox ended or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// On request.
    Killed,
    /// Its time was up.
    Timeout,
    /// Nobody used it for its idle timeout.
    Idle,
    /// The kernel killed its startup command, or the daemon inside, at the memory limit.
    Memory,
    /// Its startup command failed while the disk was full.
    Disk,
    /// Its health check failed for too long.
    Unhealthy,
    /// It never became ready.
    StartupFailed,
    /// The daemon inside ended on its own.
    Crashed,
    /// Its monitor was killed, or the host restarted; found later.
    MonitorLost,
    /// On request, or because the host shut down; only where the files are kept.
    Stopped,
}

impl EndReason {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Unhealthy => "unhealthy",
            Self::StartupFailed => "startup failed",
            Self::Crashed => "crashed",
            Self::MonitorLost => "monitor lost",
            Self::Stopped => "stopped",
        }
    }

    /// Whether a sandbox whose files are kept ends by it for good.
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Self::Killed | Self::Timeout | Self::Idle)
    }
}

/// Why, with the number that was hit and what there is to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    pub reason: EndReason,
    /// Seconds of a timeout, MB of memory or disk, failures of a health check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The last word of whatever failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl From<EndReason> for Cause {
    fn from(reason: EndReason) -> Self {
        Self { reason, limit: None, detail: None }
    }
}

impl Cause {
    /// With its number.
    pub(crate) fn of(reason: EndReason, limit: u64) -> Self {
        Self { limit: Some(limit), ..reason.into() }
    }

    /// `memory: 2048 MB`, `timeout: 600 s`, `startup failed: …`.
    pub fn text(&self) -> String {
        let mut text = self.reason.as_str().to_owned();
        match (self.limit, self.reason) {
            (Some(limit), EndReason::Timeout | EndReason::Idle) => text.push_str(&format!(": {limit} s")),
            (Some(limit), EndReason::Memory | EndReason::Disk) => text.push_str(&format!(": {limit} MB")),
            (Some(limit), EndReason::Unhealthy) => text.push_str(&format!(": {limit} failed checks")),
            _ => {}
        }
        if let Some(detail) = &self.detail {
            text.push_str(": ");
            text.push_str(detail);
        }
        text
    }
}

/// `ended/<id>.json`: what is kept of a sandbox that is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub id: SandboxId,
    pub name: Option<String>,
    pub template: String,
    /// Seconds since the epoch.
    pub created: u64,
    /// Seconds since the epoch.
    pub ended: u64,
    #[serde(flatten)]
    pub cause: Cause,
}

impl Record {
    /// Reads the record in `dir`; `None` where there is none or it is not readable.
    pub fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(dir.join("sandbox.json")).ok()?).ok()
    }

    /// Replaces the record in `dir`; on the host's disk, with the entry itself, where the sandbox is to outlive its
    /// power.
    pub fn write(&self, dir: &Path) -> std::io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        if !self.kept {
            return replace(&dir.join("sandbox.json"), &bytes);
        }
        write_durable(&dir.join("sandbox.json"), &bytes)?;
        File::open(dir)?.sync_all()
    }

    /// What will be kept of it.
    pub fn ended(&self, cause: Cause) -> Ended {
        Ended {
            id: self.id.clone(),
            name: self.settings.name.clone(),
            template: self.settings.template.clone(),
            created: self.created,
            ended: now(),
            cause,
        }
    }

    /// Notes that nothing of it runs any more.
    pub(crate) fn stop(&mut self, cause: Cause) {
        self.state = State::Stopped;
        self.stopped = Some(cause);
        self.ends = None;
        self.init = 0;
        if self.health != Health::None {
            self.health = Health::Starting;
        }
    }

    /// Why its monitor is gone, for one that did not say.
    pub(crate) fn lost(&self) -> Cause {
        let restarted = !self.boot.is_empty() && self.boot != boot_id();
        Cause {
            detail: restarted.then(|| "the host was restarted".to_owned()),
            ..EndReason::MonitorLost.into()
        }
    }
}

/// Names this boot of the host; empty where the kernel does not say.
pub(crate) fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// Seconds since the epoch.
pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_says_its_number_and_its_last_word() {
        let detail = |cause: Cause, text: &str| Cause { detail: Some(text.to_owned()), ..cause };
        for (cause, expect) in [
            (Cause::from(EndReason::Killed), "killed"),
            (Cause::of(EndReason::Timeout, 600), "timeout: 600 s"),
            (Cause::of(EndReason::Memory, 64), "memory: 64 MB"),
            (detail(Cause::of(EndReason::Unhealthy, 3), "no"), "unhealthy: 3 failed checks: no"),
            (detail(EndReason::StartupFailed.into(), "status 1"), "startup failed: status 1"),
        ] {
            assert_eq!(cause.text(), expect);
        }
    }

    #[test]
    fn what_an_older_version_left_is_read() {
        let text = r#"{"id":"abcdefghijklmnopqrst","name":null,"template":"t","created":1,"ended":2,"reason":"monitor_lost"}"#;
        let ended: Ended = serde_json::from_str(text).expect("an older form");
        assert_eq!(ended.cause, EndReason::MonitorLost.into());
        assert_eq!(serde_json::to_string(&ended).expect("json"), text);
    }
}
