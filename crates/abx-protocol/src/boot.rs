//! What the host hands the daemon when it starts.
//!
//! ```text
//! ABX_LISTEN_FD   a listening unix socket
//! ABX_CONTROL_FD  one end of a socket pair: the daemon writes "ready\n" once it serves, "ended\n" once
//!                 the startup command has ended, and exits when the host closes its end
//! ABX_CONFIG_FD   a file or memfd that holds a `BootConfig` as JSON, read from offset 0
//! ABX_LOG_FD      optional: where the startup command's output goes, one `LogLine` as JSON a line
//! ```

use serde::{Deserialize, Serialize};

/// Name of the variable with the listening socket's descriptor number.
pub const LISTEN_FD: &str = "ABX_LISTEN_FD";
/// Name of the variable with the control descriptor's number.
pub const CONTROL_FD: &str = "ABX_CONTROL_FD";
/// Name of the variable with the configuration descriptor's number.
pub const CONFIG_FD: &str = "ABX_CONFIG_FD";
/// Name of the variable with the log descriptor's number.
pub const LOG_FD: &str = "ABX_LOG_FD";
/// What the daemon writes to the control descriptor once it serves.
pub const READY: &[u8] = b"ready\n";
/// What it writes there once the startup command has ended.
pub const ENDED: &[u8] = b"ended\n";

/// The daemon's configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BootConfig {
    pub sandbox_id: String,
    /// The template as the user named it; `E2B_TEMPLATE_ID` inside.
    pub template: String,
    pub hostname: String,
    /// Default environment of every process, in order; a later entry wins.
    pub env: Vec<(String, String)>,
    /// The user of a call that names none: a name, a uid, or either with `:group`. Empty means root.
    pub user: String,
    /// Where processes start that name no directory. Empty, or absent in the root: the user's home.
    pub workdir: String,
    /// The shell of the startup command and of probes. Empty: `/bin/bash`, else `/bin/sh`.
    pub shell: String,
    pub capabilities: Vec<String>,
    /// The port of the code service instead of its usual one; 0 for any. For tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_command: Option<StartupCommand>,
    /// Where set, every call but the open ones must carry it as `X-Access-Token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token: Option<String>,
    /// The sandbox's limits, for `/metrics`; the host's own numbers where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<MetricLimits>,
}

/// What runs at boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartupCommand {
    /// Runs as `shell -lc command`, as the user, in the workdir.
    pub command: String,
}

/// Limits that `/metrics` reports as totals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricLimits {
    /// Cores.
    pub cpu: f64,
    pub memory_mb: u64,
}

/// One line of the startup command's output in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// RFC 3339, UTC, with milliseconds.
    pub time: String,
    /// `stdout`, `stderr`, or `abx` for what the daemon itself has to say.
    pub stream: String,
    /// Without its line break; bytes that are not UTF-8 are replaced.
    pub line: String,
}
