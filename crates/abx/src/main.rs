//! The command line: argv in, agent-sandbox operation, output.
//!
//! In reading order: [`cli`] (what a user may type), [`commands`] (what each command does, one file each),
//! [`output`] (results and talk), [`report`] (errors), [`progress`] (bars and lines), [`attach`] and
//! [`terminal`] (a process in the foreground), [`prompt`] (secrets typed in), [`transfer`] (files and folders).

mod attach;
mod cli;
mod commands;
mod edge_error;
mod failure;
mod output;
mod progress;
mod prompt;
mod report;
mod terminal;
mod transfer;

use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) use edge_error::EdgeError;
pub(crate) use failure::Failure;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // Monitors and step helpers are this executable too; they must not pay for, or be confused by, a parser.
    match agent_sandbox::internal::dispatch(words.get(1).map(OsString::as_os_str)) {
        Some(code) => code,
        None => ExitCode::from(commands::run(&words)),
    }
}
