//! What is known of a sandbox, on disk.

use std::path::Path;

use abx_core::fs::replace;
use serde::{Deserialize, Serialize};

use crate::{SandboxId, SandboxSettings};

/// `sandboxes/<id>/sandbox.json`. Only the sandbox's monitor writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub id: SandboxId,
    pub settings: SandboxSettings,
    /// Seconds since the epoch.
    pub created: u64,
    /// Seconds since the epoch when the timeout ends it; `None` for never.
    pub ends: Option<u64>,
    pub state: State,
    pub health: Health,
    pub ports: Vec<PortMapping>,
    /// Process id of the monitor.
    pub monitor: u32,
    /// Process id, on the host, of the daemon inside (process 1 there). 0 before it runs.
    pub init: u32,
}

/// What a live sandbox does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Not ready yet.
    Starting,
    Running,
    /// Frozen; keeps its memory.
    Paused,
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

/// Why a sandbox ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// On request.
    Killed,
    Timeout,
    Idle,
    /// It never became ready.
    StartupFailed,
    /// The daemon inside ended on its own.
    Crashed,
    /// Its monitor was killed; found and cleaned up later.
    MonitorLost,
}

impl EndReason {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Timeout => "timeout",
            Self::Idle => "idle",
            Self::StartupFailed => "startup failed",
            Self::Crashed => "crashed",
            Self::MonitorLost => "monitor lost",
        }
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
    pub reason: EndReason,
}

impl Record {
    /// Reads the record in `dir`; `None` where there is none or it is not readable.
    pub fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(dir.join("sandbox.json")).ok()?).ok()
    }

    /// Replaces the record in `dir`. Not synced: a sandbox does not outlive its host's power.
    pub fn write(&self, dir: &Path) -> std::io::Result<()> {
        replace(&dir.join("sandbox.json"), &serde_json::to_vec(self)?)
    }

    /// What will be kept of it.
    pub fn ended(&self, reason: EndReason) -> Ended {
        Ended {
            id: self.id.clone(),
            name: self.settings.name.clone(),
            template: self.settings.template.clone(),
            created: self.created,
            ended: now(),
            reason,
        }
    }
}

/// Seconds since the epoch.
pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
