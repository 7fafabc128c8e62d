//! A command of a sandbox in the foreground: what `create`, `exec` and `connect` share.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_client::{Exit, ProcessRequest};
use abx_core::Code;
use agent_sandbox::Sandbox;
use serde::Serialize;

use super::Edge;
use super::hits::Before;
use crate::EdgeError;
use crate::Failure;
use crate::attach::{AttachOptions, Captured, ExitOutcome, Output, attach};
use crate::cli::Stdio;
use crate::failure::BEFORE_COMMAND;
use crate::terminal;

/// Status of a command that was killed.
const KILLED: u8 = 128 + 9;

/// What to run and how it is joined to the caller.
#[derive(Debug, Default)]
pub(super) struct Job {
    pub(super) command: Vec<String>,
    pub(super) user: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) env: BTreeMap<String, String>,
    /// Seconds; `None` for never.
    pub(super) timeout: Option<u64>,
    pub(super) attach: AttachOptions,
}

/// What `--json` prints of a command.
#[derive(Debug, Serialize)]
struct Report<'a> {
    id: &'a str,
    exit_status: u8,
    /// The signal that ended it.
    signal: Option<i32>,
    /// Bytes that are not UTF-8 are replaced.
    stdout: String,
    stderr: String,
    /// There was more output than is kept, 16 MiB of each stream.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Checks that the caller has the terminal that `-t` asks for.
pub(super) fn attach_options(stdio: Stdio) -> Result<AttachOptions, Failure> {
    if stdio.tty && stdio.interactive && !terminal::stdin_is_terminal() {
        return Err(Failure::usage(
            "-t with -i needs a terminal on standard input; use -i alone to pass it on",
        ));
    }
    Ok(AttachOptions { tty: stdio.tty, interactive: stdio.interactive })
}

/// The template's shell, as a login shell in the workdir.
pub(super) fn shell(sandbox: &Sandbox, attach: AttachOptions) -> Job {
    let (shell, workdir) = sandbox.shell();
    let command = vec![shell.to_owned(), "-l".to_owned()];
    Job { command, cwd: Some(workdir.to_owned()), attach, ..Job::default() }
}

/// Runs the job to its end and returns its exit status, or what stands for it: 127 and 126 where it is not there
/// or not executable, 137 where its time was up or the sandbox ended under it.
///
/// # Errors
/// It did not start: what the caller reports as 125.
pub(super) async fn run(edge: &Edge, sandbox: &Sandbox, job: Job) -> Result<u8, Failure> {
    let (attach_options, time) = (job.attach, job.timeout);
    let before = Before::of(sandbox).await;
    let process = match sandbox.client().start(request(job)).await {
        Ok(process) => process,
        Err(error) => {
            let status = error.exit_status().unwrap_or(BEFORE_COMMAND);
            Failure::from(error).report(&edge.printer, true);
            return Ok(status);
        }
    };
    let json = edge.printer.json();
    let mut output = if json { Output::capture() } else { Output::pass().map_err(Failure::Output)? };
    let outcome = match attach(process, attach_options, &mut output).await {
        Err(Failure::Fault(fault)) => {
            let failure = match time {
                Some(seconds) if fault.code() == Code::ExecTimeout => {
                    EdgeError::CommandTimeout { seconds }.into()
                }
                _ => Failure::Fault(fault),
            };
            failure.report(&edge.printer, true);
            return Ok(KILLED);
        }
        outcome => outcome?,
    };
    if let Output::Capture(captured) = output {
        report(edge, sandbox, outcome, &captured)?;
    }
    if has_failed(outcome)
        && let Some(hit) = before.explain(sandbox).await
    {
        Failure::from(hit).report(&edge.printer, true);
    }
    Ok(outcome.status())
}

fn request(job: Job) -> ProcessRequest {
    let mut env = job.env;
    if job.attach.tty {
        // What the caller's terminal understands is what the process may send it.
        let term = std::env::var("TERM").unwrap_or_else(|_| "xterm-256color".to_owned());
        env.entry("TERM".to_owned()).or_insert(term);
    }
    ProcessRequest {
        argv: job.command,
        env,
        cwd: job.cwd,
        user: job.user,
        pty: job.attach.tty.then(|| terminal::size().into()),
        stdin: job.attach.interactive,
        tag: None,
        timeout: job.timeout.map(Duration::from_secs),
    }
}

fn report(edge: &Edge, sandbox: &Sandbox, outcome: ExitOutcome, captured: &Captured) -> Result<(), Failure> {
    let signal = match outcome {
        ExitOutcome::Ended(Exit::Signal { number, .. }) => Some(number),
        ExitOutcome::Ended(Exit::Code(_)) | ExitOutcome::Left(_) => None,
    };
    let report = Report {
        id: sandbox.id(),
        exit_status: outcome.status(),
        signal,
        stdout: String::from_utf8_lossy(&captured.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&captured.stderr).into_owned(),
        truncated: captured.truncated,
    };
    edge.printer.result(&report, "")
}

fn has_failed(outcome: ExitOutcome) -> bool {
    !matches!(outcome, ExitOutcome::Ended(Exit::Code(0)) | ExitOutcome::Left(_))
}
