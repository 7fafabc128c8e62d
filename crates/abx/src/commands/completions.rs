use clap::CommandFactory;
use serde_json::json;

use crate::Failure;
use crate::cli::{Cli, CompletionsArgs};
use crate::output::Printer;

/// Prints the script of one shell. Needs neither settings nor state.
pub(super) fn completions(printer: &Printer, args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "abx", &mut script);
    let script = String::from_utf8_lossy(&script);
    printer.result(&json!({ "shell": args.shell.to_string(), "script": script }), &script)?;
    Ok(0)
}
