//! The command line: argv in, agent-sandbox operation, output.
//!
//! In reading order: [`cli`] (what a user may type), [`commands`] (what each command does, one file each),
//! [`output`] (results and talk), [`report`] (errors), [`progress`] (bars and lines), [`attach`] and
//! [`terminal`] (a process in the foreground).

mod attach;
mod cli;
mod failure;
mod output;
mod progress;
mod report;
mod terminal;

pub(crate) use failure::Failure;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::SUCCESS
}
