//! How a command ends when it does not succeed, and under which status.

use std::io;

use abx_core::Fault;

use crate::output::Printer;
use crate::report::{ErrorObject, text};

/// Status of `abx` where it failed before the command in the sandbox ran.
pub(crate) const BEFORE_COMMAND: u8 = 125;
/// Status of a wrong command line.
const USAGE: u8 = 2;

const BROKEN_PIPE: u8 = 13;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is wrong.
    Usage(Box<clap::Error>),
    /// The operation failed.
    Fault(Box<dyn Fault>),
    /// Standard output cannot be written.
    Output(io::Error),
    /// A signal ended the wait for the operation.
    Interrupted(u8),
}

impl<F: Fault> From<F> for Failure {
    fn from(fault: F) -> Self {
        Self::Fault(Box::new(fault))
    }
}

impl Failure {
    /// A wrong command line that the parser cannot see.
    pub(crate) fn usage(message: impl std::fmt::Display) -> Self {
        use clap::CommandFactory;
        let kind = clap::error::ErrorKind::ArgumentConflict;
        Self::Usage(Box::new(crate::cli::Cli::command().error(kind, message)))
    }

    /// Tells the user, and returns the exit status: the failure's own, or 125 where the status belongs to a
    /// command that did not get to run.
    pub(crate) fn report(self, printer: &Printer, carries_status: bool) -> u8 {
        match self {
            Self::Usage(error) => {
                report_usage(&error, printer);
                USAGE
            }
            Self::Fault(fault) => {
                report_fault(fault.as_ref(), printer);
                if carries_status { BEFORE_COMMAND } else { fault.code().exit_status() }
            }
            // The reader has had enough (`abx list | head -1`): nothing to say, and no failure of ours. A
            // command in the foreground would have been ended by SIGPIPE.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                if carries_status {
                    128 + BROKEN_PIPE
                } else {
                    0
                }
            }
            Self::Output(error) => {
                let message = format!("cannot write to standard output: {error}");
                if printer.json() {
                    talk_json(printer, &ErrorObject::plain("output", message, Vec::new()));
                } else {
                    printer.talk(&format!("{}: {message}", printer.paint().error("error")));
                }
                if carries_status { BEFORE_COMMAND } else { 1 }
            }
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

fn report_usage(error: &clap::Error, printer: &Printer) {
    let rendered = error.render();
    if printer.json() {
        talk_json(printer, &parsed(&rendered.to_string()));
    } else if printer.paint().is_on() {
        printer.talk(&rendered.ansi().to_string());
    } else {
        printer.talk(&rendered.to_string());
    }
}

/// The parser's text taken apart: the message is its first paragraph, advice is what it calls a tip.
fn parsed(text: &str) -> ErrorObject {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let message = lines.iter().take_while(|line| !line.is_empty()).copied().collect::<Vec<_>>().join(" ");
    let message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let help = lines.iter().filter_map(|line| line.strip_prefix("tip: ")).map(str::to_owned).collect();
    ErrorObject::plain("usage", message, help)
}

fn report_fault(fault: &dyn Fault, printer: &Printer) {
    if printer.json() {
        talk_json(printer, &ErrorObject::new(fault));
    } else {
        printer.talk(&text(fault, printer.paint()));
    }
}

fn talk_json(printer: &Printer, object: &ErrorObject) {
    match serde_json::to_string(object) {
        Ok(text) => printer.talk(&text),
        Err(error) => printer.talk(&format!("error: {error}")),
    }
}
