//! What can go wrong at the edge itself.

use std::io;
use std::path::PathBuf;

use abx_core::{Code, Fault};
use agent_sandbox::sandbox::{NO_POLICY_ALLOWS, Refusal};

/// A failure that no operation reports.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EdgeError {
    #[error("cannot start")]
    Runtime(#[source] io::Error),
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("the code raised {name}: {value}")]
    Raised { name: String, value: String },
    #[error("the code was not done after {seconds} s and was stopped")]
    CodeTimeout { seconds: u64 },
    #[error("the sandbox's memory limit of {limit} MB was hit and the kernel killed a process of it")]
    MemoryLimit { limit: u64 },
    #[error("the sandbox's limit of {limit} processes was hit and the kernel refused to start another")]
    ProcessLimit { limit: u64 },
    #[error("{refusal}")]
    Egress { refusal: Refusal, count: u64 },
    #[error("{hit}")]
    FailedAtLimit { hit: Box<Self>, failure: String },
    #[error("the command was not done after {seconds} s and was killed with all it had started")]
    CommandTimeout { seconds: u64 },
}

impl Fault for EdgeError {
    fn code(&self) -> Code {
        match self {
            Self::Runtime(_) | Self::Signals(_) => Code::Execution,
            Self::MemoryLimit { .. }
            | Self::ProcessLimit { .. }
            | Self::Egress { .. }
            | Self::FailedAtLimit { .. } => Code::Limit,
            Self::CommandTimeout { .. } | Self::CodeTimeout { .. } => Code::ExecTimeout,
            Self::Raised { .. } => Code::CodeFailed,
            Self::Read { source, .. } | Self::Write { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Code::FileNotFound,
                io::ErrorKind::PermissionDenied => Code::FilePermission,
                _ => Code::File,
            },
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::MemoryLimit { limit } => {
                vec![format!("create the sandbox with more, such as `--memory {}`", limit.saturating_mul(2))]
            }
            Self::Egress { refusal, count } => {
                let target = refusal.to_allow();
                let allow = format!(
                    "if it is meant to get there, name it in `network.egress.allow` of the template, or create the \
                     sandbox with `--allow-out {target}`"
                );
                let logs = format!("it was refused {count} times meanwhile; `abx logs` shows what");
                let is_final = refusal.reason == NO_POLICY_ALLOWS;
                [(!is_final, allow), (*count > 1, logs)]
                    .into_iter()
                    .filter_map(|(is_wanted, hint)| is_wanted.then_some(hint))
                    .collect()
            }
            Self::FailedAtLimit { hit, failure } => {
                std::iter::once(failure.clone()).chain(hit.hints()).collect()
            }
            _ => Vec::new(),
        }
    }
}
