//! `run`: a command in the sandbox.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_client::{Client, ClientError, Exit, ProcessEvent, ProcessRequest};
use abx_spec::suite::{Command, RunCheck};
use abx_spec::{At, Place};
use bytes::Bytes;

use super::finding::{Finding, Unseen};

/// More than this of a stream is not kept.
const MOST: usize = 1 << 20;

/// How a command ended and what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ran {
    /// As a shell says it.
    pub(super) status: u8,
    /// The words for it where a signal ended it.
    pub(super) signal: Option<String>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs the command of a test and looks at what it came to.
pub(super) async fn check(
    client: &Client,
    shell: &str,
    workdir: &str,
    check: &RunCheck,
    place: &Place,
) -> Result<Finding, Unseen> {
    let argv = match &check.command {
        Command::Words(words) => words.clone(),
        Command::Shell(script) => {
            let options = if check.is_login { "-lc" } else { "-c" };
            vec![shell.to_owned(), options.to_owned(), script.clone()]
        }
    };
    let request = ProcessRequest {
        argv,
        env: check.env.clone(),
        cwd: Some(check.cwd.clone().unwrap_or_else(|| workdir.to_owned())),
        user: check.user.clone(),
        stdin: check.stdin.is_some(),
        timeout: Some(Duration::from_secs_f64(check.timeout)),
        ..ProcessRequest::default()
    };
    let mut finding = Finding::default();
    let ran = match run(client, request, check.stdin.as_deref()).await {
        Err(ClientError::Timeout { .. }) => {
            finding.miss(
                place,
                "time",
                format!("at most {} s", check.timeout),
                "killed after that".to_owned(),
            );
            return Ok(finding);
        }
        ran => ran?,
    };
    let wanted = check.status.clone().unwrap_or_else(|| At { value: 0, place: place.clone() });
    if ran.status != wanted.value {
        let actual = match &ran.signal {
            Some(signal) => format!("{} ({signal})", ran.status),
            None => ran.status.to_string(),
        };
        finding.miss(&wanted.place, "status", wanted.value.to_string(), actual);
    }
    finding.text(&check.stdout, "stdout", &ran.stdout);
    finding.text(&check.stderr, "stderr", &ran.stderr);
    if !finding.failures.is_empty() {
        if check.stdout.is_empty() {
            finding.wrote("stdout", &ran.stdout);
        }
        if check.stderr.is_empty() {
            finding.wrote("stderr", &ran.stderr);
        }
    }
    Ok(finding)
}

/// Runs a script in the sandbox's shell, as its user; for looks that are made of commands.
pub(super) async fn script(client: &Client, script: &str, arguments: &[&str]) -> Result<Ran, ClientError> {
    as_user(client, script, arguments, None).await
}

/// [`script`] as somebody else.
pub(super) async fn as_user(
    client: &Client,
    script: &str,
    arguments: &[&str],
    user: Option<&str>,
) -> Result<Ran, ClientError> {
    let words = ["/bin/sh", "-c", script, "test"];
    let request = ProcessRequest {
        argv: words.iter().chain(arguments).map(|word| (*word).to_owned()).collect(),
        env: BTreeMap::new(),
        user: user.map(str::to_owned),
        timeout: Some(Duration::from_secs(120)),
        ..ProcessRequest::default()
    };
    run(client, request, None).await
}

/// Runs a process to its end. A program that is not there ends with 127, one that is none with 126, as in a shell.
async fn run(client: &Client, request: ProcessRequest, stdin: Option<&str>) -> Result<Ran, ClientError> {
    let mut process = match client.start(request).await {
        Ok(process) => process,
        Err(error) => {
            let Some(status) = error.exit_status() else { return Err(error) };
            return Ok(Ran { status, stderr: error.to_string(), ..Ran::default() });
        }
    };
    let input = stdin.map(|text| {
        let (mut input, text) = (process.input(), Bytes::from(text.to_owned()));
        // Beside the reading of its output: a process that echoes would wait for that. One that does not read to the
        // end breaks the pipe, as in a shell.
        tokio::spawn(async move {
            let _ = input.send(text).await;
            let _ = input.close().await;
        })
    });
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let exit = loop {
        match process.next().await? {
            Some(ProcessEvent::Stdout(bytes) | ProcessEvent::Pty(bytes)) => keep(&mut stdout, &bytes),
            Some(ProcessEvent::Stderr(bytes)) => keep(&mut stderr, &bytes),
            Some(ProcessEvent::End(exit)) => break exit,
            None => {
                let what = "the process's events ended before it did".to_owned();
                return Err(ClientError::Malformed { call: "start", what });
            }
        }
    };
    if let Some(input) = input {
        input.abort();
    }
    Ok(Ran {
        status: exit.shell_status(),
        signal: matches!(exit, Exit::Signal { .. }).then(|| exit.to_string()),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

fn keep(kept: &mut Vec<u8>, bytes: &Bytes) {
    let room = MOST.saturating_sub(kept.len());
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}
