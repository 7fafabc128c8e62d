//! `cargo xtask test`: installs what the tests need, says what this host lacks all the same, then runs every test.

use std::process::Command;

use crate::failure::Failure;
use crate::{apt, host, tool, workspace};

/// Runs all tests of the workspace; `arguments` go to `cargo test`. What the host lacks is listed first: the tests
/// that need it print why and skip.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    install();
    let lacking: Vec<_> = host::needs().into_iter().filter(|need| !need.is_met).collect();
    if lacking.is_empty() {
        tool::say("this host has all that the tests need; none is skipped for lack of it");
    }
    for need in lacking {
        tool::say(&format!("skipped: {} (no {}; {})", need.tests, need.name, need.remedy));
    }
    let mut command = Command::new(workspace::cargo());
    tool::run(command.args(["test", "--workspace"]).args(arguments).current_dir(workspace::root()))
}

/// Installs the Debian packages that tests need, where that can be done. That it cannot is told as what is lacking.
fn install() {
    let missing = host::needs().into_iter().filter(|need| !need.is_met).flat_map(|need| need.packages);
    apt::install(&missing.copied().collect::<Vec<_>>());
}
