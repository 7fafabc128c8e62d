//! What can go wrong with a sandbox.

use std::path::PathBuf;

use abx_client::ClientError;
use abx_core::{Code, Fault, Home};
use abx_isolate::{IsolateError, NO_POLICY_ALLOWS, Refusal};

use crate::SandboxId;

/// An operation on a sandbox failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    #[error("no sandbox `{which}`")]
    NoSandbox { which: String, why: Option<String>, near: Vec<String> },
    #[error("`{which}` fits {} sandboxes", ids.len())]
    Ambiguous { which: String, ids: Vec<SandboxId> },
    #[error("a sandbox named `{name}` is live already")]
    NameTaken { name: String },
    #[error("`{name}` cannot name a sandbox")]
    NameInvalid { name: String },
    #[error("cannot use {}", path.display())]
    State { path: PathBuf, source: std::io::Error },
    #[error("no space left for {}", path.display())]
    NoSpace { path: PathBuf },
    #[error("cannot start the monitor of the sandbox")]
    Monitor { source: std::io::Error },
    #[error("the monitor of the sandbox ended before the sandbox was ready")]
    MonitorDied { log: Vec<String> },
    #[error("the monitor of sandbox {id} does not answer")]
    MonitorSilent { id: SandboxId },
    #[error("the monitor refused: {reason}")]
    MonitorRefused { reason: String },
    #[error("the disk of an earlier run is still in use: {}", path.display())]
    DiskInUse { path: PathBuf },
    #[error("sandbox {id} waits in no pool any more")]
    PoolLeft { id: SandboxId },
    #[error("cannot format a disk of {size} MB")]
    Format { size: u64, detail: String },
    #[error("the daemon inside did not start within {seconds} s")]
    GuestSilent { seconds: u64 },
    #[error("{reason}")]
    NotReady { reason: String, refused: Option<Box<Refusal>>, output: Vec<String> },
    #[error("the daemon inside ended before it served")]
    GuestDied,
    #[error("the sandbox ran into its {limit} limit of {number} MB while it started")]
    Limit { limit: &'static str, number: u64, reason: String, output: Vec<String> },
    #[error("sandbox {id} is {state}")]
    NotRunning { id: SandboxId, state: &'static str },
    #[error("nobody waits for the sandbox any more")]
    CreatorGone,
    #[error("the sandbox was killed while it started")]
    Killed,
    #[error(transparent)]
    Isolate(#[from] IsolateError),
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The monitor's error, as it came over its pipe.
    #[error("{message}")]
    Reported { code: Code, message: String, hints: Vec<String>, details: Vec<String> },
}

impl EngineError {
    /// Wraps a failed file operation; a full disk has a variant of its own.
    pub(crate) fn state(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            _ => Self::State { path, source },
        }
    }

    /// E2009, saying why the sandbox is gone where that is known, or which names are near.
    pub(crate) fn no_sandbox(home: &Home, which: &str) -> Self {
        let why = crate::find_ended(home, which).map(|ended| {
            let ago = crate::record::now().saturating_sub(ended.ended);
            format!("it ended {ago} s ago: {}", ended.cause.text())
        });
        let near = crate::list(home)
            .unwrap_or_default()
            .into_iter()
            .filter(|found| !found.record.pooled)
            .map(|found| found.record.settings.name.unwrap_or_else(|| found.record.id.to_string()))
            .take(5)
            .collect();
        Self::NoSandbox { which: which.to_owned(), why, near }
    }
}

impl Fault for EngineError {
    fn code(&self) -> Code {
        match self {
            Self::NoSandbox { .. } | Self::Ambiguous { .. } => Code::NoSandbox,
            Self::NotReady { .. } | Self::GuestSilent { .. } | Self::GuestDied => Code::NotReady,
            Self::Limit { .. } => Code::Limit,
            Self::Isolate(error) => error.code(),
            Self::Client(error) => error.code(),
            Self::Reported { code, .. } => *code,
            _ => Code::CreateFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSandbox { why, near, .. } => {
                let mut hints: Vec<String> = why.iter().cloned().collect();
                if near.is_empty() {
                    hints.push("no sandbox is live: `abx create base` starts one".into());
                } else {
                    hints.push(format!("live: {}", near.join(", ")));
                }
                hints
            }
            Self::Ambiguous { ids, .. } => ids.iter().map(|id| format!("it could be {id}")).collect(),
            Self::NameTaken { name } => vec![format!("choose another name, or end it: `abx kill {name}`")],
            Self::NameInvalid { .. } => {
                vec![
                    "use letters, digits, `-`, `_` and `.`, at most 63, beginning with a letter or digit"
                        .into(),
                ]
            }
            Self::State { source, .. }
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                vec!["run as root (sudo), or set ABX_HOME to a folder you may write".into()]
            }
            Self::NoSpace { .. } => vec!["free some space, or set ABX_HOME to a larger disk".into()],
            Self::Limit { limit, number, reason, .. } => {
                vec![reason.clone(), format!("create it with more, such as `--{limit} {}`", number * 2)]
            }
            Self::NotReady { refused: Some(refusal), .. } => {
                let allow = format!(
                    "if it is meant to get there, create it with `--allow-out {}`",
                    refusal.to_allow()
                );
                let is_final = refusal.reason == NO_POLICY_ALLOWS;
                std::iter::once(refusal.to_string()).chain((!is_final).then_some(allow)).collect()
            }
            Self::NotRunning { id, .. } => vec![format!("`abx resume {id}` lets it run on")],
            Self::Format { .. } => vec!["`abx doctor` says whether mkfs.ext4 is installed".into()],
            Self::Isolate(error) => error.hints(),
            Self::Client(error) => error.hints(),
            Self::Reported { hints, .. } => hints.clone(),
            _ => Vec::new(),
        }
    }

    fn details(&self) -> Vec<String> {
        match self {
            Self::NotReady { output, .. }
            | Self::Limit { output, .. }
            | Self::MonitorDied { log: output } => output.clone(),
            Self::Format { detail, .. } => detail.lines().map(str::to_owned).collect(),
            Self::Reported { details, .. } => details.clone(),
            Self::Isolate(error) => error.details(),
            _ => Vec::new(),
        }
    }
}
