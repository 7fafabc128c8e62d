//! `cargo xtask kill-rounds N [SEED]`: the test that kills at random, with many rounds.

use std::process::Command;

use crate::failure::Failure;
use crate::{tool, workspace};

/// Runs the same test as CI does, `N` rounds of it.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (rounds, seed) = match arguments {
        [rounds] => (rounds, None),
        [rounds, seed] => (rounds, Some(seed)),
        _ => return Err(Failure::Usage("Usage: cargo xtask kill-rounds N [SEED]".to_owned())),
    };
    tool::run(&mut command(rounds, seed.map(String::as_str)))
}

/// The command that runs `rounds` rounds.
pub(crate) fn command(rounds: &str, seed: Option<&str>) -> Command {
    let mut command = Command::new(workspace::cargo());
    command.args(["test", "--package", "abx", "--test", "kill", "--", "--nocapture"]);
    command.env("ABX_KILL_ROUNDS", rounds).current_dir(workspace::root());
    if let Some(seed) = seed {
        command.env("ABX_KILL_SEED", seed);
    }
    command
}
