//! What there is to know of a sandbox.

use abx_core::Egress;
use abx_engine::{EndReason, Ended, Health, PortMapping, Record, State};
use serde::Serialize;

/// What there is to know of a sandbox, live or ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    pub id: String,
    pub name: Option<String>,
    pub template: String,
    pub status: Status,
    /// Why it ended or stopped, for one that has.
    pub reason: Option<EndReason>,
    /// The number that was hit: seconds of a timeout, MB of memory or disk, failed checks.
    pub limit: Option<u64>,
    /// The last word of what has failed.
    pub detail: Option<String>,
    /// Seconds since the epoch.
    pub created: u64,
    /// Seconds since the epoch: when its timeout ends it, or when it ended. `None` for never, and while the clock stands
    /// still: before it is ready, paused or stopped.
    pub ends: Option<u64>,
    /// The rest is there for those that have not ended.
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    pub live: Option<LiveInfo>,
}

/// The part of [`Info`] that only a sandbox has which has not ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveInfo {
    pub image: String,
    pub user: String,
    pub workdir: String,
    pub shell: String,
    /// `ephemeral` or `persistent`.
    pub mode: String,
    pub cpu: f64,
    /// MB.
    pub memory: u64,
    /// MB.
    pub disk: u64,
    pub pids: u64,
    /// Seconds; 0 for never.
    pub timeout: u64,
    /// Seconds; 0 for never.
    pub idle_timeout: u64,
    pub network: bool,
    /// What of the outside may be reached; `None`: everything.
    pub egress: Option<Egress>,
    pub ports: Vec<PortMapping>,
    pub capabilities: Vec<String>,
    pub health: Health,
}

/// What a sandbox does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Not ready yet.
    Starting,
    Running,
    /// Frozen; it keeps its memory.
    Paused,
    /// Nothing of it runs; its files are kept, and whoever uses it starts it again.
    Stopped,
    /// It waits in a pool.
    Pooled,
    Ended,
}

impl Info {
    pub(super) fn of_live(record: &Record) -> Self {
        let settings = &record.settings;
        let status = match record.state {
            _ if record.pooled => Status::Pooled,
            State::Starting => Status::Starting,
            State::Running => Status::Running,
            State::Paused => Status::Paused,
            State::Stopped => Status::Stopped,
        };
        let stopped = record.stopped.clone().filter(|_| status == Status::Stopped);
        let live = LiveInfo {
            image: settings.image.clone(),
            user: settings.user.clone(),
            workdir: settings.workdir.clone(),
            shell: settings.shell.clone(),
            mode: if settings.persistent { "persistent" } else { "ephemeral" }.to_owned(),
            cpu: settings.cpu,
            memory: settings.memory,
            disk: settings.disk,
            pids: settings.pids,
            timeout: settings.timeout,
            idle_timeout: settings.idle_timeout,
            network: settings.network,
            egress: settings.egress.clone(),
            ports: if status == Status::Stopped { Vec::new() } else { record.ports.clone() },
            capabilities: settings.capabilities.clone(),
            health: record.health,
        };
        Self {
            id: record.id.to_string(),
            name: settings.name.clone(),
            template: settings.template.clone(),
            status,
            reason: stopped.as_ref().map(|cause| cause.reason),
            limit: stopped.as_ref().and_then(|cause| cause.limit),
            detail: stopped.and_then(|cause| cause.detail),
            created: record.created,
            ends: record.ends,
            live: Some(live),
        }
    }

    pub(super) fn of_ended(ended: Ended) -> Self {
        Self {
            id: ended.id.to_string(),
            name: ended.name,
            template: ended.template,
            status: Status::Ended,
            reason: Some(ended.cause.reason),
            limit: ended.cause.limit,
            detail: ended.cause.detail,
            created: ended.created,
            ends: Some(ended.ended),
            live: None,
        }
    }
}
