//! Runs the built `abx` in a home of its own.

pub(crate) mod sandbox;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A home folder, a state folder and nothing of the caller's environment but PATH.
pub(crate) struct Abx {
    home: tempfile::TempDir,
}

impl Abx {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("tempdir");
        // A name that is unknown else must not lead to the network.
        std::fs::write(home.path().join(".index.yaml"), "templates: []\n").expect("write");
        Self { home }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The command with these words.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_abx"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("ABX_HOME", self.home().join("state"))
            .env("ABX_TEMPLATE_INDEX_URL", self.home().join(".index.yaml"))
            .current_dir(self.home())
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.command(words).output().expect("abx runs"))
    }
}

/// Says why a test does not run.
#[expect(clippy::print_stderr, reason = "the test harness shows it")]
pub(crate) fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
}

/// How a run ended and what it wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

impl Ran {
    /// The code of the first error that was printed for people.
    #[track_caller]
    pub(crate) fn error_code(&self) -> String {
        let code = self.stderr.split_once("error[").and_then(|(_, rest)| rest.split_once("]: "));
        code.unwrap_or_else(|| panic!("no error: {self:?}")).0.to_owned()
    }

    /// The one JSON object on stderr, with nothing beside it and nothing on stdout.
    #[track_caller]
    pub(crate) fn error_object(&self) -> serde_json::Value {
        assert_eq!(self.stdout, "");
        serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
