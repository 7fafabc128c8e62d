//! From a request to a running process.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use abx_protocol::process::{ProcessConfig, ProcessEvent, Pty};
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;

use super::{Outputs, Process, Stdin, pump};
use crate::command::{Command, Ends, SpawnError, Terminal};
use crate::files::path::{self, PathError};
use crate::guest::Guest;
use crate::users::User;

/// What to launch and for whom.
pub(crate) struct Launch {
    pub(crate) config: ProcessConfig,
    pub(crate) user: User,
    pub(crate) pty: Option<Pty>,
    pub(crate) stdin: bool,
    pub(crate) tag: Option<String>,
    /// When the whole tree is killed.
    pub(crate) deadline: Option<Instant>,
    pub(crate) counts_as_use: bool,
}

/// Why a process could not be started.
#[derive(Debug)]
pub(crate) enum LaunchError {
    Directory(PathError),
    NoDirectory(PathBuf),
    NotFound(String),
    NotExecutable(String),
    Io(String, io::Error),
}

impl LaunchError {
    /// What a shell would report, where it is the program's fault.
    pub(crate) fn exit_status(&self) -> Option<u8> {
        match self {
            Self::NotFound(_) => Some(127),
            Self::NotExecutable(_) => Some(126),
            _ => None,
        }
    }
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(error) => error.fmt(f),
            Self::NoDirectory(path) => write!(f, "cwd '{}' does not exist", path.display()),
            Self::NotFound(program) => write!(f, "command '{program}' not found"),
            Self::NotExecutable(program) => write!(f, "command '{program}' is not executable"),
            Self::Io(program, error) => write!(f, "error starting command '{program}': {error}"),
        }
    }
}

/// Starts it and returns the first listener, which misses nothing. It runs on when all listeners are gone.
pub(crate) fn launch(
    guest: &Rc<Guest>,
    launch: Launch,
) -> Result<(Rc<Process>, mpsc::Receiver<ProcessEvent>), LaunchError> {
    let Launch { config, user, pty, stdin, tag, deadline, counts_as_use } = launch;
    let directory = directory(guest, config.cwd.as_deref(), &user)?;
    let mut env = guest.environment(&user, &config.envs);
    let terminal = match pty {
        Some(pty) => {
            env.entry("TERM".to_owned()).or_insert_with(|| "xterm-256color".to_owned());
            Terminal::Pty(pty.size.unwrap_or_default())
        }
        None => Terminal::None { stdin },
    };
    let command = Command {
        program: &config.cmd,
        args: &config.args,
        env: &env,
        directory: &directory,
        user: &user,
        terminal,
    };
    let child = command.spawn(guest).map_err(|error| explain(&config.cmd, error))?;
    let (stdin, terminal, outputs) = match child.ends {
        Ends::Pipes { stdin, stdout, stderr } => {
            let stdin = stdin.map_or(Stdin::Absent, Stdin::Open);
            (stdin, None, Outputs::pipes(stdout, stderr))
        }
        Ends::Pty(channel) => {
            let channel = Rc::new(channel);
            (Stdin::Absent, Some(channel.clone()), Outputs::terminal(channel))
        }
    };
    let process = Rc::new(Process {
        pid: child.pid,
        end: child.watched.end,
        tag,
        config,
        counts_as_use,
        stdin: Mutex::new(stdin),
        terminal,
        listeners: std::cell::RefCell::default(),
    });
    let listener = process.listen();
    guest.processes.add(process.clone());
    tokio::task::spawn_local(pump::run(
        guest.clone(),
        process.clone(),
        outputs,
        child.watched.exit,
        deadline,
    ));
    Ok((process, listener))
}

fn directory(guest: &Guest, wanted: Option<&str>, user: &User) -> Result<PathBuf, LaunchError> {
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Ok(guest.default_directory(user));
    };
    let directory = path::resolve(wanted, user, Path::new("")).map_err(LaunchError::Directory)?;
    if directory.is_dir() { Ok(directory) } else { Err(LaunchError::NoDirectory(directory)) }
}

fn explain(program: &str, error: SpawnError) -> LaunchError {
    let program = program.to_owned();
    match error {
        SpawnError::NotFound => LaunchError::NotFound(program),
        SpawnError::NotExecutable => LaunchError::NotExecutable(program),
        SpawnError::Io(error) => LaunchError::Io(program, error),
    }
}
