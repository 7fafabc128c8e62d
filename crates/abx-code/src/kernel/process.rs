//! A kernel's process.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Leader of a process group of its own. Dropping it kills the group; it dies with us in any case.
#[derive(Debug)]
pub(crate) struct Process {
    pub(super) child: Child,
    group: Pid,
}

impl Process {
    /// Starts `argv` with these variables and no others. Its standard input is what `stdin` says, its outputs are
    /// pipes.
    pub(super) fn start(
        argv: &[String],
        env: &BTreeMap<String, String>,
        directory: &Path,
        stdin: Stdio,
    ) -> io::Result<Self> {
        let (program, arguments) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(env).current_dir(directory);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        // SAFETY: one system call, which neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let child = command.spawn()?;
        let group =
            child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { child, group })
    }

    /// Sends SIGINT to all of it.
    pub(super) fn interrupt(&self) {
        // One that is gone needs none.
        let _ = kill_process_group(self.group, Signal::INT);
    }

    /// Waits for its end and says how it was. May be dropped and called again.
    pub(super) async fn end(&mut self) -> String {
        self.child.wait().await.map_or_else(|error| error.to_string(), said)
    }

    /// How it ended, where it has.
    pub(crate) fn ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(said(status)),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its number is still the group's: whatever it started may outlive it, and keeps the group.
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

fn said(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "it is gone".to_owned(),
    }
}
