//! A sandbox for the length of a test.

use serde_json::Value;

use crate::{Ran, TestContext};

/// Ends when dropped.
#[derive(Debug)]
pub struct LiveSandbox<'a> {
    pub id: String,
    context: &'a TestContext,
}

impl<'a> LiveSandbox<'a> {
    pub(crate) fn new(context: &'a TestContext, id: String) -> Self {
        Self { id, context }
    }

    /// `abx exec` of this command.
    #[track_caller]
    pub fn exec(&self, command: &[&str]) -> Ran {
        self.context.run(&[&["exec", &self.id, "--"], command].concat())
    }

    /// What a shell prints that runs the script to its end with success.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        self.exec(&["sh", "-ec", script]).success()
    }

    /// What a shell of root prints.
    #[track_caller]
    pub fn root_sh(&self, script: &str) -> String {
        self.context.run(&["exec", &self.id, "--user", "root", "--", "sh", "-ec", script]).success()
    }

    /// `abx info --json`.
    #[track_caller]
    pub fn info(&self) -> Value {
        let ran = self.context.run(&["info", &self.id, "--json"]);
        assert_eq!(ran.status, Some(0), "{ran:#?}");
        ran.json()
    }
}

impl Drop for LiveSandbox<'_> {
    fn drop(&mut self) {
        // A test may have ended it already.
        let _ = self.context.command(&["-q", "kill", &self.id]).output();
    }
}
