//! Everything a sandbox is started with: the template's defaults and the caller's overrides, settled.

use std::path::PathBuf;

use abx_core::Egress;
use abx_isolate::{Bind, RuntimeFile};
use serde::{Deserialize, Serialize};

/// A settled request for one sandbox. It travels as JSON from the creator to the monitor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SandboxSettings {
    /// A second way to name it; unique among live sandboxes.
    pub name: Option<String>,
    /// What to show as its template: `python-base:1.0.0`.
    pub template: String,
    /// Layer directories, bottom first.
    pub layers: Vec<PathBuf>,
    /// Id of the image.
    pub image: String,
    /// Default environment of every process, in order.
    pub env: Vec<(String, String)>,
    pub user: String,
    pub workdir: String,
    pub shell: String,
    pub persistent: bool,
    /// Cores.
    pub cpu: f64,
    /// MB.
    pub memory: u64,
    /// MB.
    pub disk: u64,
    /// Processes and threads.
    pub pids: u64,
    /// Seconds until it ends, however busy; 0 for never.
    pub timeout: u64,
    /// Seconds without activity until it ends (ephemeral) or pauses (persistent); 0 for never.
    pub idle_timeout: u64,
    /// Pauses it when its time is up, instead of ending it.
    #[serde(default)]
    pub pause_on_timeout: bool,
    /// Seconds it may stay unhealthy until it ends; 0 for ever.
    #[serde(default)]
    pub unhealthy_timeout: u64,
    pub ports: Vec<PortRequest>,
    /// Ports listen on all addresses instead of the host's loopback.
    pub public: bool,
    /// `false`: loopback only.
    pub network: bool,
    /// What of the outside may be reached; `None`: all that the host lets through.
    #[serde(default)]
    pub egress: Option<Egress>,
    pub capabilities: Vec<String>,
    /// What states them, in words: a place in a file, an option. `None` where they are the default.
    #[serde(default)]
    pub capability_origin: Option<String>,
    pub startup_command: Option<String>,
    pub readiness: Option<Readiness>,
    pub healthcheck: Option<HealthCheck>,
    /// Host files bound into the root: the host's certificates, say.
    pub binds: Vec<Bind>,
    /// Files that exist only at run time.
    pub files: Vec<RuntimeFile>,
    /// Ports of the host's loopback to be reached at the same port inside: a proxy or mirror there.
    pub loopback: Vec<u16>,
}

/// A port of the sandbox to be reached from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRequest {
    /// `None`: any free port.
    pub host: Option<u16>,
    pub guest: u16,
}

/// When the sandbox counts as ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Readiness {
    pub check: ReadinessCheck,
    /// Seconds between tries.
    pub interval: f64,
    /// Seconds in all; also cuts one try that hangs.
    pub timeout: f64,
}

/// One try at readiness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadinessCheck {
    /// Something listens on the port. The port is looked up, not connected to, so that the service sees nothing of it.
    Tcp(u16),
    /// A shell command ends with status 0.
    Exec(String),
}

/// Looks after a running sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HealthCheck {
    pub command: String,
    /// Seconds.
    pub interval: f64,
    /// Seconds.
    pub timeout: f64,
    /// Failures in a row until it counts as unhealthy.
    pub retries: u32,
    /// Seconds from the start in which failures do not count until a check has passed.
    #[serde(default)]
    pub start_period: f64,
}
