//! Ours, as its users drive it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::{attempt, quiet};
use crate::failure::Failure;

/// The program and its state directory.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    program: PathBuf,
    home: PathBuf,
}

impl Ours {
    pub(crate) fn new(program: PathBuf, home: PathBuf) -> Self {
        Self { program, home }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// The same program with another state directory.
    pub(crate) fn with_home(&self, home: PathBuf) -> Self {
        Self::new(self.program.clone(), home)
    }

    /// `abx` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("ABX_HOME", &self.home);
        command
    }

    /// Creates a sandbox that stays, off the clock, and returns its id.
    pub(crate) fn create(&self, template: &str) -> Result<String, Failure> {
        let command = &mut self.command(&[
            "create",
            template,
            "--network",
            "none",
            "--timeout",
            "0",
            "--idle-timeout",
            "0",
        ]);
        quiet(command).map(|id| id.trim().to_owned())
    }

    /// Removes a sandbox, off the clock.
    pub(crate) fn kill(&self, id: &str) {
        attempt(&mut self.command(&["kill", id]));
    }
}
