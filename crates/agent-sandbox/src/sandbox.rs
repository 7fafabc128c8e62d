//! Sandboxes: find, list, look at, use, pause and resume, end.

use std::path::PathBuf;

use abx_client::Client;
use abx_core::Egress;
use abx_core::{Code, Fault};
pub use abx_engine::control::LimitHits;
pub use abx_engine::{EndReason, Health, NO_POLICY_ALLOWS, PortMapping, Refusal, RefusalReport};
use abx_engine::{PortRequest, Record};

use crate::{Context, Error};

mod info;

pub use info::{Info, LiveInfo, Status};

/// A sandbox that lives, or is stopped and can be started again.
#[derive(Clone, Debug)]
pub struct Sandbox {
    home: abx_core::Home,
    exe: PathBuf,
    record: Record,
}

/// Finds a sandbox by id, unique prefix of an id, or name.
///
/// # Errors
/// E2009 where there is none, or where a prefix fits several.
pub fn find(context: &Context, which: &str) -> Result<Sandbox, Error> {
    Ok(Sandbox::new(context, abx_engine::find(&context.home, which)?.record))
}

/// What there is to know of a sandbox, found as [`find`] does, else among those that ended lately.
///
/// # Errors
/// E2009 where there is none, or where a prefix fits several.
pub fn info(context: &Context, which: &str) -> Result<Info, Error> {
    match (find(context, which), abx_engine::find_ended(&context.home, which)) {
        (Ok(sandbox), _) => Ok(sandbox.info()),
        (Err(error), Some(ended)) if error.code() == Code::NoSandbox && !is_ambiguous(&error) => {
            Ok(Info::of_ended(ended))
        }
        (Err(error), _) => Err(error),
    }
}

/// The log of a sandbox, found as [`info`] does: its id and the file, which is missing where nothing was printed. Of one
/// that ended the end of the log is kept.
pub fn log(context: &Context, which: &str) -> Result<(String, PathBuf), Error> {
    match (find(context, which), abx_engine::find_ended(&context.home, which)) {
        (Ok(sandbox), _) => Ok((sandbox.id().to_owned(), sandbox.log())),
        (Err(error), Some(ended)) if error.code() == Code::NoSandbox && !is_ambiguous(&error) => {
            Ok((ended.id.to_string(), abx_engine::registry::ended_log(&context.home, &ended.id)))
        }
        (Err(error), _) => Err(error),
    }
}

fn is_ambiguous(error: &Error) -> bool {
    matches!(error, Error::Engine(abx_engine::EngineError::Ambiguous { .. }))
}

/// Sandboxes, newest first; `all` adds those that wait in pools, and those that ended lately.
pub fn list(context: &Context, all: bool) -> Result<Vec<Info>, Error> {
    let mut infos: Vec<Info> = abx_engine::list(&context.home)?
        .into_iter()
        .filter(|found| all || !found.record.pooled)
        .map(|found| Info::of_live(&found.record))
        .collect();
    if all {
        infos.extend(abx_engine::list_ended(&context.home)?.into_iter().map(Info::of_ended));
    }
    infos.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.id.cmp(&b.id)));
    Ok(infos)
}

impl Sandbox {
    pub(crate) fn new(context: &Context, record: Record) -> Self {
        Self { home: context.home.clone(), exe: context.exe.clone(), record }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.record.id.as_str()
    }

    /// The engine's own form of [`Sandbox::id`].
    pub(crate) fn record_id(&self) -> &abx_engine::SandboxId {
        &self.record.id
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

    /// What it was started with.
    pub(crate) fn settings(&self) -> &abx_engine::SandboxSettings {
        &self.record.settings
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

    /// What its policy for the outside has refused up to now. Compare before and after.
    pub async fn refusals(&self) -> RefusalReport {
        match self.record.settings.egress {
            Some(_) => abx_engine::control::refusals(&self.home, &self.record.id).await,
            None => RefusalReport::default(),
        }
    }

    /// Replaces its policy for the outside. Connections that are open stay open.
    ///
    /// # Errors
    /// It was started without one; one that allows everything will do.
    pub async fn set_egress(&self, policy: Egress) -> Result<(), Error> {
        abx_engine::control::set_egress(&self.home, &self.record.id, policy).await?;
        Ok(())
    }

    /// Forwards one more port, and tells where. One that is forwarded already stays as it is.
    ///
    /// # Errors
    /// The host cannot listen there.
    pub async fn forward(&self, port: PortRequest) -> Result<PortMapping, Error> {
        Ok(abx_engine::control::forward(&self.home, &self.record.id, port).await?)
    }

    /// Ends it and waits until nothing of it is left.
    pub async fn kill(&self) -> Result<(), Error> {
        Ok(abx_engine::control::kill(&self.home, &self.record.id).await?)
    }

    /// Freezes every process of it; it keeps its memory, and its clock stands still.
    pub async fn pause(&self) -> Result<(), Error> {
        abx_engine::control::pause(&self.home, &self.record.id).await?;
        Ok(())
    }

    /// Ends every process of it and keeps its files, whatever its mode. [`Sandbox::resume`] starts it again.
    pub async fn stop(&self) -> Result<(), Error> {
        Ok(abx_engine::control::stop(&self.home, &self.record.id).await?)
    }

    /// Lets a paused one go on and starts a stopped one; returns it as it is when it runs. It gets its timeout anew.
    pub async fn resume(&self) -> Result<Self, Error> {
        self.resume_for(None).await
    }

    /// [`Sandbox::resume`] with another timeout, in seconds. One that runs already is left alone.
    pub async fn resume_for(&self, timeout: Option<u64>) -> Result<Self, Error> {
        let engine = abx_engine::create::Engine { home: self.home.clone(), exe: self.exe.clone() };
        let record = abx_engine::resume::resume(&engine, &self.record.id, timeout).await?;
        Ok(Self { record, ..self.clone() })
    }

    /// Sets when its timeout ends it: in so many seconds, sooner or later than it was; 0 is now, `None` is never. For a
    /// paused one it is the time it gets when it goes on.
    pub async fn set_timeout(&self, seconds: Option<u64>) -> Result<Info, Error> {
        let record = abx_engine::control::set_timeout(&self.home, &self.record.id, seconds).await?;
        Ok(Info::of_live(&record))
    }

    /// Sees to it that it has so many seconds left at least; never shortens its life.
    pub async fn extend(&self, seconds: u64) -> Result<Info, Error> {
        let record = abx_engine::control::extend(&self.home, &self.record.id, seconds).await?;
        Ok(Info::of_live(&record))
    }
}
