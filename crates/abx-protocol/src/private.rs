//! Our own service: JSON over HTTP under `/abx/v1/`.
//!
//! ```text
//! GET  activity                                → Activity
//! GET  info                                    → Info
//! GET  startup                                 → Startup
//! GET  ports                                   → Ports
//! POST exec        ExecRequest                 → ExecResponse
//! GET  archive?path=…&username=…               → a tar stream of the directory's (or file's) content
//! PUT  archive?path=…&username=…  tar stream   → ArchiveReport
//! POST commands                                → CommandService
//! POST code                                    → CodeService, which listens from then on; 403 without the capability
//! GET  tunnel?port=…  Upgrade: abx-tunnel      → 101, then the bytes of the port on the sandbox's loopback
//! ```
//!
//! Errors are `{"code": <HTTP status>, "message": "…"}`, as on the E2B routes.

use serde::{Deserialize, Serialize};

/// Raised with every incompatible change of this service.
pub const GENERATION: u32 = 1;

pub const ACTIVITY: &str = "/abx/v1/activity";
pub const INFO: &str = "/abx/v1/info";
pub const STARTUP: &str = "/abx/v1/startup";
pub const PORTS: &str = "/abx/v1/ports";
pub const EXEC: &str = "/abx/v1/exec";
pub const ARCHIVE: &str = "/abx/v1/archive";
pub const TUNNEL: &str = "/abx/v1/tunnel";
pub const CODE: &str = "/abx/v1/code";
pub const COMMANDS: &str = "/abx/v1/commands";

/// Where the Python package of named commands lies inside.
pub const LIBRARY: &str = "/run/abx/python";
/// Where named commands are served inside, by the template or by us.
pub const COMMANDS_PORT: u16 = 9000;

/// The protocol that a request for a [`TUNNEL`] upgrades to: whatever the port speaks.
pub const UPGRADE: &str = "abx-tunnel";

/// Where the code service is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeService {
    /// On the sandbox's loopback.
    pub port: u16,
}

/// How busy a sandbox is. Calls of this service (but `archive`) and `/health` do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Calls under way, streams included.
    pub active_calls: u32,
    /// Of them, streams of process events or file changes.
    pub open_streams: u32,
    /// Processes that calls started and that still run.
    pub processes: u32,
    /// Seconds since the last call began or ended or a process that a call started wrote something; 0
    /// while a call is under way.
    pub idle_seconds: f64,
}

/// What this daemon is and was told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    pub generation: u32,
    pub version: String,
    pub envd_version: String,
    pub sandbox_id: String,
    pub template: String,
    pub hostname: String,
    pub capabilities: Vec<String>,
    pub user: String,
    pub workdir: String,
    pub shell: String,
    pub env: Vec<(String, String)>,
    pub uptime_seconds: f64,
}

/// The startup command's state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Startup {
    pub state: StartupState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// As a shell reports it: 128 and the signal's number where a signal ended it, 127 or 126 where it could
    /// not be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The last of its output, both streams as they came.
    pub tail: String,
}

impl Startup {
    /// It has ended, and not with 0.
    pub fn failed(&self) -> bool {
        self.state == StartupState::Exited && self.exit_code != Some(0)
    }
}

/// Where the startup command is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartupState {
    /// There is none.
    #[default]
    None,
    Running,
    Exited,
}

/// What listens inside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ports {
    /// In order of port and address.
    pub ports: Vec<ListeningPort>,
}

/// A TCP port inside that somebody listens on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListeningPort {
    pub port: u16,
    /// `0.0.0.0`, `127.0.0.1`, `::`, …
    pub address: String,
    /// `None` where it hides what it holds.
    pub process: Option<Owner>,
}

/// A process that holds a socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Owner {
    /// Inside.
    pub pid: u32,
    /// As the kernel knows it, at most 15 letters.
    pub name: String,
    /// Its words with spaces between, the first of them; empty where it has none.
    pub command: String,
    /// Seconds since the process was started.
    pub age_seconds: f64,
}

/// A command whose output matters little: a probe, a health check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecRequest {
    /// Runs as `shell -c command` in the workdir.
    pub command: String,
    /// The default user where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Seconds after which the whole tree is killed; 0 means 30.
    pub timeout: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecResponse {
    /// As a shell reports it; 137 after a timeout.
    pub exit_code: u8,
    pub timed_out: bool,
    /// The last of its output, both streams as they came.
    pub output: String,
}

/// Who answers for the sandbox's named commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandService {
    pub port: u16,
    /// Ours; else a server of the template's own.
    pub is_ours: bool,
    /// What it wants to see as `Authorization: Bearer`, where the template sets `ABX_SERVER_TOKEN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// What an uploaded archive came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArchiveReport {
    pub entries: u64,
    pub bytes: u64,
    /// Entries left out: devices, pipes, names that leave the directory.
    pub skipped: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wire of generation 1. A daemon in a running sandbox is older than a later host: fields may be
    /// added here, but what changes or drops one of these lines is a new generation.
    #[test]
    fn the_surface_of_this_generation_is_frozen() {
        assert_eq!(GENERATION, 1);
        let activity = Activity { active_calls: 1, open_streams: 2, processes: 3, idle_seconds: 0.5 };
        let startup =
            Startup { state: StartupState::Exited, pid: Some(7), exit_code: Some(1), tail: "t".to_owned() };
        let request = ExecRequest { command: "c".to_owned(), user: Some("u".to_owned()), timeout: 1.5 };
        let response = ExecResponse { exit_code: 137, timed_out: true, output: "o".to_owned() };
        let service = CommandService { port: 9000, is_ours: true, token: Some("t".to_owned()) };
        let report = ArchiveReport { entries: 1, bytes: 2, skipped: vec!["s".to_owned()] };
        let info = Info { env: vec![("K".to_owned(), "V".to_owned())], ..Info::default() };
        let owner = Owner { pid: 7, name: "n".to_owned(), command: "n -x".to_owned(), age_seconds: 0.5 };
        let ports =
            Ports { ports: vec![ListeningPort { port: 80, address: "::".to_owned(), process: Some(owner) }] };
        let rows = [
            (serde_json::to_string(&service), r#"{"port":9000,"is_ours":true,"token":"t"}"#),
            (
                serde_json::to_string(&ports),
                concat!(
                    r#"{"ports":[{"port":80,"address":"::","process":"#,
                    r#"{"pid":7,"name":"n","command":"n -x","age_seconds":0.5}}]}"#
                ),
            ),
            (
                serde_json::to_string(&activity),
                r#"{"active_calls":1,"open_streams":2,"processes":3,"idle_seconds":0.5}"#,
            ),
            (serde_json::to_string(&startup), r#"{"state":"exited","pid":7,"exit_code":1,"tail":"t"}"#),
            (serde_json::to_string(&Startup::default()), r#"{"state":"none","tail":""}"#),
            (serde_json::to_string(&request), r#"{"command":"c","user":"u","timeout":1.5}"#),
            (serde_json::to_string(&response), r#"{"exit_code":137,"timed_out":true,"output":"o"}"#),
            (serde_json::to_string(&report), r#"{"entries":1,"bytes":2,"skipped":["s"]}"#),
            (
                serde_json::to_string(&info),
                concat!(
                    r#"{"generation":0,"version":"","envd_version":"","sandbox_id":"","template":"","#,
                    r#""hostname":"","capabilities":[],"user":"","workdir":"","shell":"","#,
                    r#""env":[["K","V"]],"uptime_seconds":0.0}"#
                ),
            ),
        ];
        for (seen, expect) in rows {
            assert_eq!(seen.expect("json"), expect);
        }
    }
}
