//! Live sandboxes: find, list, look at, use, end.

use std::path::PathBuf;

use abx_client::Client;
use abx_engine::Record;
pub use abx_engine::control::LimitHits;
pub use abx_engine::{EndReason, Health, PortMapping};
use serde::Serialize;

use crate::{Context, Error};

/// A live sandbox.
#[derive(Clone, Debug)]
pub struct Sandbox {
    home: abx_core::Home,
    record: Record,
}

/// What there is to know of a sandbox, live or ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    pub id: String,
    pub name: Option<String>,
    pub template: String,
    pub status: Status,
    /// Why it ended, for one that has.
    pub reason: Option<EndReason>,
    /// Seconds since the epoch.
    pub created: u64,
    /// Seconds since the epoch: when its timeout ends it, or when it ended.
    pub ends: Option<u64>,
    /// The rest is there for live ones.
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    pub live: Option<LiveInfo>,
}

/// The part of [`Info`] that only a live sandbox has.
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
    pub ports: Vec<PortMapping>,
    pub capabilities: Vec<String>,
    pub health: Health,
}

/// What a sandbox does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Starting,
    Running,
    Paused,
    Ended,
}

/// Finds a live sandbox by id, unique prefix of an id, or name.
///
/// # Errors
/// E2009 where there is none, or where a prefix fits several.
pub fn find(context: &Context, which: &str) -> Result<Sandbox, Error> {
    let record = abx_engine::find(&context.home, which)?.record;
    Ok(Sandbox { home: context.home.clone(), record })
}

/// Live sandboxes, newest first; `all` adds those that ended lately.
pub fn list(context: &Context, all: bool) -> Result<Vec<Info>, Error> {
    let mut infos: Vec<Info> =
        abx_engine::list_live(&context.home)?.into_iter().map(|found| Info::of_live(&found.record)).collect();
    if all {
        infos.extend(abx_engine::list_ended(&context.home)?.into_iter().map(Info::of_ended));
    }
    infos.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.id.cmp(&b.id)));
    Ok(infos)
}

impl Sandbox {
    pub(crate) fn new(context: &Context, record: Record) -> Self {
        Self { home: context.home.clone(), record }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.record.id.as_str()
    }

    /// What it was started with and what it does now.
    pub fn info(&self) -> Info {
        Info::of_live(&self.record)
    }

    /// The connection to the daemon inside: processes, files, terminals.
    pub fn client(&self) -> Client {
        Client::new(self.dir().join("guest.sock"))
    }

    /// Directory of its state.
    pub fn dir(&self) -> PathBuf {
        self.home.sandboxes().join(self.id())
    }

    /// The file that holds the output of its startup command, one JSON object a line.
    pub fn log(&self) -> PathBuf {
        self.dir().join("log.jsonl")
    }

    /// Shell and workdir, for `connect`.
    pub fn shell(&self) -> (&str, &str) {
        (&self.record.settings.shell, &self.record.settings.workdir)
    }

    /// How often its limits were hit so far. Compare before and after.
    pub fn limit_hits(&self) -> LimitHits {
        abx_engine::control::limit_hits(&self.record.id)
    }

    /// Its limits as E3010 names them: (cores, MB of memory, MB of disk, processes).
    pub fn limits(&self) -> (f64, u64, u64, u64) {
        let settings = &self.record.settings;
        (settings.cpu, settings.memory, settings.disk, settings.pids)
    }

    /// Ends it and waits until nothing of it is left.
    pub async fn kill(&self) -> Result<(), Error> {
        Ok(abx_engine::control::kill(&self.home, &self.record.id).await?)
    }

    /// Freezes every process of it.
    pub async fn pause(&self) -> Result<(), Error> {
        Ok(abx_engine::control::pause(&self.home, &self.record.id).await?)
    }

    /// Lets a frozen one go on.
    pub async fn resume(&self) -> Result<(), Error> {
        Ok(abx_engine::control::resume(&self.home, &self.record.id).await?)
    }
}

impl Info {
    fn of_live(record: &Record) -> Self {
        let settings = &record.settings;
        let status = match record.state {
            abx_engine::State::Starting => Status::Starting,
            abx_engine::State::Running => Status::Running,
            abx_engine::State::Paused => Status::Paused,
        };
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
            ports: record.ports.clone(),
            capabilities: settings.capabilities.clone(),
            health: record.health,
        };
        Self {
            id: record.id.to_string(),
            name: settings.name.clone(),
            template: settings.template.clone(),
            status,
            reason: None,
            created: record.created,
            ends: record.ends,
            live: Some(live),
        }
    }

    fn of_ended(ended: abx_engine::Ended) -> Self {
        Self {
            id: ended.id.to_string(),
            name: ended.name,
            template: ended.template,
            status: Status::Ended,
            reason: Some(ended.reason),
            created: ended.created,
            ends: Some(ended.ended),
            live: None,
        }
    }
}
