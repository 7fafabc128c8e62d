//! `cargo xtask ci`: what every change must pass.

use std::process::Command;

use crate::failure::Failure;
use crate::{test, tidy, tool, workspace};

/// Formatting, lints, tidy, tests; stops at the first that fails.
pub(crate) fn run() -> Result<(), Failure> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    tidy::run()?;
    test::run(&[])
}

fn cargo(arguments: &[&str]) -> Result<(), Failure> {
    tool::say(&format!("cargo {}", arguments.join(" ")));
    tool::run(Command::new(workspace::cargo()).args(arguments).current_dir(workspace::root()))
}
