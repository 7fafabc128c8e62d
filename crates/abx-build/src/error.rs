//! What can go wrong in a build.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::{Code, Fault, Snippet};
use abx_image::ImageError;
use abx_isolate::IsolateError;

use crate::dockerfile::Refusal;

/// A failed build, with its subject.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The process of a step failed.
    #[error("build step `{}` of {} {failure}", step.title, step.template)]
    Step { step: Box<FailedStep>, failure: Failure },
    /// A step that only writes files could not do so.
    #[error("build step `{}` of {} failed", step.title, step.template)]
    Files {
        step: Box<FailedStep>,
        #[source]
        source: io::Error,
    },
    /// The template names a user that cannot be made.
    #[error("`{user}` of {template} cannot be the name of a user")]
    UserName { user: String, template: String },
    /// A tool that a step needs is not in the image.
    #[error("build step `{}` of {} needs {tool}, which the image lacks", step.title, step.template)]
    NoTool { step: Box<FailedStep>, tool: &'static str, hint: String },
    /// A Dockerfile cannot be understood, or not with these arguments.
    #[error(transparent)]
    Dockerfile(#[from] Box<abx_dockerfile::Invalid>),
    /// An instruction of a Dockerfile cannot be done.
    #[error("build step `{}` of {} failed: {refusal}", step.title, step.template)]
    Instruction { step: Box<FailedStep>, refusal: Box<Refusal> },
    /// A file that a step copies is not in the package.
    #[error("`{path}` is not in the package of {template}")]
    MissingFile { path: String, template: String, snippet: Option<Box<Snippet>> },
    /// A file of the package could not be read.
    #[error("cannot read `{}` of the package", path.display())]
    Package {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The build's own files could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    State {
        verb: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A step would have to run, but nothing may be fetched.
    #[error("build step `{title}` of {template} has not been built here, and nothing may be fetched")]
    Offline { title: String, template: String },
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The process of a step could not be started, or was lost.
    #[error("cannot run build step `{}` of {}", step.title, step.template)]
    Launch {
        step: Box<FailedStep>,
        #[source]
        source: IsolateError,
    },
    /// There is no room for another process of ours on this host.
    #[error("cannot run a build step")]
    Isolate(#[from] IsolateError),
    /// The caller went away, or asked to stop. Finished steps are kept.
    #[error("the build was stopped")]
    Stopped,
    /// A defect of ours; its message went to stderr.
    #[error("the build ended by a defect in abx")]
    Defect,
}

/// The step an error is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedStep {
    pub title: String,
    pub template: String,
    /// What it ran; empty for a step without a process.
    pub command: String,
    pub snippet: Option<Snippet>,
    /// The last lines of its output.
    pub tail: Vec<String>,
    /// The whole output.
    pub log: Option<PathBuf>,
}

/// How the process of a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It ended with this status.
    Status(i32),
    /// A signal ended it.
    Signal(i32),
    /// It ran too long.
    Timeout(Duration),
    /// It hit its memory limit, in MB.
    Memory(Option<u64>),
    /// There was no space left for what it wrote.
    DiskFull,
    /// These packages do not exist, as the package tool says in `line`.
    NoPackage { packages: Vec<String>, line: String },
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "ended with status {status}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::Timeout(limit) => write!(f, "was stopped after {} seconds", limit.as_secs()),
            Self::Memory(Some(limit)) => write!(f, "hit its memory limit of {limit} MB"),
            Self::Memory(None) => write!(f, "was ended because memory ran out"),
            Self::DiskFull => write!(f, "failed: no space left on the device"),
            Self::NoPackage { packages, line } => {
                write!(f, "failed: no such package: {} ({line})", packages.join(", "))
            }
        }
    }
}

impl BuildError {
    pub(crate) fn state<P: AsRef<Path>>(
        verb: &'static str,
        path: P,
    ) -> impl FnOnce(io::Error) -> Self + use<P> {
        let path = path.as_ref().to_owned();
        move |source| Self::State { verb, path, source }
    }

    fn step(&self) -> Option<&FailedStep> {
        match self {
            Self::Step { step, .. }
            | Self::Files { step, .. }
            | Self::NoTool { step, .. }
            | Self::Instruction { step, .. }
            | Self::Launch { step, .. } => Some(step),
            _ => None,
        }
    }
}

impl Fault for BuildError {
    fn code(&self) -> Code {
        match self {
            Self::Step { failure: Failure::Timeout(_), .. } => Code::BuildTimeout,
            Self::Step { failure: Failure::Memory(_), .. } => Code::Limit,
            Self::Step { failure: Failure::DiskFull, .. } => Code::FileSize,
            Self::Dockerfile(invalid) => invalid.code(),
            Self::Instruction { refusal, .. } => match &**refusal {
                Refusal::Checksum { .. } => Code::DigestMismatch,
                Refusal::FetchOffline { .. } => Code::Offline,
                Refusal::File { source, .. } if file_code(source) == Code::FileSize => Code::FileSize,
                _ => Code::BuildStep,
            },
            Self::Step { .. } | Self::NoTool { .. } => Code::BuildStep,
            Self::UserName { .. } => Code::SpecInvalid,
            Self::MissingFile { .. } => Code::FileNotFound,
            Self::Files { source, .. } | Self::State { source, .. } | Self::Package { source, .. } => {
                file_code(source)
            }
            Self::Offline { .. } => Code::Offline,
            Self::Image(error) => error.code(),
            Self::Launch { source, .. } | Self::Isolate(source) => source.code(),
            Self::Stopped | Self::Defect => Code::CreateFailed,
        }
    }

    fn hints(&self) -> Vec<String> {
        let mut hints = match self {
            Self::Step { failure, .. } => failure.hints(),
            Self::NoTool { hint, .. } => vec![hint.clone()],
            Self::Dockerfile(invalid) => invalid.hints(),
            Self::Instruction { refusal, .. } => refusal.hints(),
            Self::UserName { .. } => {
                vec!["use lower-case letters, digits, `-` and `_`, beginning with a letter".into()]
            }
            Self::MissingFile { .. } => vec!["paths are relative to the package's folder".into()],
            Self::Files { source, .. } | Self::State { source, .. }
                if file_code(source) == Code::FileSize =>
            {
                vec!["free some space, or move the store with ABX_HOME; finished steps are kept".into()]
            }
            Self::Offline { .. } => vec!["run once without --offline".into()],
            Self::Image(error) => error.hints(),
            Self::Launch { source, .. } | Self::Isolate(source) => source.hints(),
            Self::Stopped => vec!["the next run goes on after the last finished step".into()],
            _ => Vec::new(),
        };
        if let Some(log) = self.step().and_then(|step| step.log.as_ref()) {
            hints.push(format!("the whole output is in {}", log.display()));
        }
        hints
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::MissingFile { snippet, .. } => snippet.iter().map(|snippet| (**snippet).clone()).collect(),
            Self::Dockerfile(invalid) => invalid.snippets(),
            _ => self.step().and_then(|step| step.snippet.clone()).into_iter().collect(),
        }
    }

    fn others(&self) -> Vec<&dyn Fault> {
        if let Self::Dockerfile(invalid) = self { invalid.others() } else { Vec::new() }
    }

    fn details(&self) -> Vec<String> {
        let Some(step) = self.step() else { return Vec::new() };
        let mut details = Vec::new();
        for (index, line) in step.command.trim_end().lines().enumerate() {
            details.push(format!("{} {line}", if index == 0 { '$' } else { ' ' }));
        }
        details.extend(step.tail.iter().cloned());
        details
    }
}

impl Failure {
    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Status(127) => "a program was not found: install it in a step before, or correct its name",
            Self::Timeout(_) => "finished steps are kept; the step starts again with the next run",
            Self::Memory(_) => "the step needs more memory than builds may use",
            Self::DiskFull => "free some space, or move the store with ABX_HOME; finished steps are kept",
            Self::NoPackage { .. } => "correct the name or the version of the package",
            Self::Status(_) | Self::Signal(_) => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

/// The code of a failed file operation.
fn file_code(error: &io::Error) -> Code {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::FileSize,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
        io::ErrorKind::NotFound => Code::FileNotFound,
        _ => Code::File,
    }
}
