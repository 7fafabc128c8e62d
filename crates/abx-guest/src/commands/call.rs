//! One call of an executable: its arguments in, its value out.

use std::collections::BTreeMap;
use std::rc::Rc;

use abx_protocol::process::Output;
use abx_protocol::signal::Exit;
use serde_json::{Map, Value};

use super::executable::Executable;
use crate::command::{Child, Command, Ends, SpawnError, Terminal};
use crate::guest::Guest;
use crate::probe::KillOnDrop;
use crate::process::{Outputs, settle};
use crate::reaper::Watched;
use crate::startup::Lines;
use crate::tail::Tail;

/// The kernel takes no longer variable.
const LONGEST_VARIABLE: usize = 100 << 10;
/// More than this is no value.
const LONGEST_VALUE: usize = 64 << 20;

/// Why there is no value: a type and a message, as `{"type", "error"}`.
pub(super) struct Failure {
    pub(super) kind: String,
    pub(super) message: String,
}

impl Failure {
    fn of(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into() }
    }
}

/// Runs it to its end. A call that is dropped ends it, with all it has started.
pub(super) async fn call(
    guest: &Rc<Guest>,
    executable: &Executable,
    arguments: &Map<String, Value>,
) -> Result<Value, Failure> {
    let user = guest.user(None).map_err(|error| Failure::of("OSError", error.to_string()))?;
    let program = executable.path.to_string_lossy();
    let command = Command {
        program: &program,
        args: &[],
        env: &guest.environment(&user, &variables(arguments)),
        directory: &guest.default_directory(&user),
        user: &user,
        terminal: Terminal::None { stdin: true },
    };
    let Child { pid, watched, ends } = command.spawn(guest).map_err(refused)?;
    let Watched { mut exit, end } = watched;
    let _guard = KillOnDrop { pid, end };
    let Ends::Pipes { stdin, stdout, stderr } = ends else { unreachable!("no terminal was asked for") };
    let input = serde_json::to_vec(arguments).expect("JSON values");
    tokio::task::spawn_local(async move {
        if let Some(stdin) = stdin {
            // It need not read its input.
            let _ = stdin.write(&input).await;
        }
    });
    let mut outputs = Outputs::pipes(stdout, stderr);
    let mut heard = Heard {
        guest: guest.clone(),
        value: Vec::new(),
        complaint: Tail::default(),
        lines: Lines::default(),
    };
    let mut open = true;
    let exit = loop {
        tokio::select! {
            exit = &mut exit => break exit,
            output = outputs.next(), if open => match output {
                Some(output) => heard.take(&output),
                None => open = false,
            },
        }
    };
    settle(outputs, async |output| heard.take(&output)).await;
    heard.lines.finish(&guest.startup);
    if heard.value.len() > LONGEST_VALUE {
        return Err(Failure::of("ValueError", format!("it printed more than {LONGEST_VALUE} bytes")));
    }
    match exit.map_or(1, Exit::shell_status) {
        0 => Ok(value(&heard.value)),
        status => Err(failed(status, &heard.complaint.text())),
    }
}

/// What it writes: its value, and what goes to the log.
struct Heard {
    guest: Rc<Guest>,
    value: Vec<u8>,
    complaint: Tail,
    lines: Lines,
}

impl Heard {
    fn take(&mut self, output: &Output) {
        if let Output::Stderr(bytes) = output {
            self.complaint.push(bytes);
            self.lines.push(output, &self.guest.startup);
        } else if self.value.len() <= LONGEST_VALUE {
            self.value.extend_from_slice(output.bytes());
        }
    }
}

/// `ARG_<NAME>`: text as it is, anything else as JSON.
fn variables(arguments: &Map<String, Value>) -> BTreeMap<String, String> {
    let named = arguments.iter().map(|(name, value)| {
        let letter = |char: char| if char.is_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (format!("ARG_{}", name.chars().map(letter).collect::<String>()), text)
    });
    named.filter(|(_, text)| text.len() <= LONGEST_VARIABLE && !text.contains('\0')).collect()
}

fn value(printed: &[u8]) -> Value {
    serde_json::from_slice(printed).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(printed);
        Value::from(text.strip_suffix('\n').unwrap_or(&text))
    })
}

fn failed(status: u8, complaint: &str) -> Failure {
    let ended = format!("ended with status {status}");
    let Some(last) = complaint.lines().rfind(|line| !line.trim().is_empty()) else {
        return Failure::of("CommandFailed", ended);
    };
    let typed: Option<Map<String, Value>> = serde_json::from_str(last).ok();
    match typed.as_ref().and_then(|typed| typed.get("error")?.as_str().map(|error| (typed, error))) {
        Some((typed, error)) => {
            Failure::of(typed.get("type").and_then(Value::as_str).unwrap_or("CommandFailed"), error)
        }
        None => Failure::of("CommandFailed", format!("{last} ({ended})")),
    }
}

fn refused(error: SpawnError) -> Failure {
    match error {
        SpawnError::NotFound => {
            Failure::of("FileNotFoundError", "the program, or what its `#!` line names, is not there")
        }
        SpawnError::NotExecutable => Failure::of("PermissionError", "it is not executable"),
        SpawnError::Io(error) => Failure::of("OSError", error.to_string()),
    }
}
