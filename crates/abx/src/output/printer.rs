//! The one owner of stdout and stderr: results go to stdout, all talk to stderr.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::{Paint, Table};
use crate::Failure;
use crate::terminal::understands_escapes;

/// Prints results and talk the way the global options ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    json: bool,
    quiet: bool,
    verbose: u8,
    stdout: Paint,
    stderr: Paint,
}

/// What shapes a [`Printer`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrinterOptions {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: u8,
    pub(crate) no_color: bool,
}

impl Printer {
    /// Colours go to a terminal only, and not where the caller, `NO_COLOR` or a dumb terminal forbids them.
    pub(crate) fn new(options: PrinterOptions) -> Self {
        let forbidden = options.no_color
            || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || !understands_escapes();
        Self {
            json: options.json,
            quiet: options.quiet,
            verbose: options.verbose,
            stdout: Paint::new(!forbidden && io::stdout().is_terminal()),
            stderr: Paint::new(!forbidden && io::stderr().is_terminal()),
        }
    }

    /// Whether results and errors are JSON.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// Whether progress, notes and warnings are unwanted: under `-q`, and under `--json`, where stderr holds
    /// nothing but the error object.
    pub(crate) fn silent(&self) -> bool {
        self.quiet || self.json
    }

    /// How much more than usual to say.
    pub(crate) fn verbose(&self) -> u8 {
        self.verbose
    }

    /// Colours for stderr.
    pub(crate) fn paint(&self) -> Paint {
        self.stderr
    }

    /// Colours for stdout.
    pub(crate) fn stdout_paint(&self) -> Paint {
        self.stdout
    }

    /// Writes a result: under `--json` the value, else `text` and a line break.
    pub(crate) fn result(&self, value: &impl Serialize, text: &str) -> Result<(), Failure> {
        if self.json {
            return self.value(value);
        }
        self.raw(text)?;
        if text.is_empty() || text.ends_with('\n') { Ok(()) } else { self.raw("\n") }
    }

    /// Writes rows: under `--json` the value, else the table.
    pub(crate) fn table(&self, value: &impl Serialize, table: &Table) -> Result<(), Failure> {
        self.result(value, &table.to_string())
    }

    /// Says that something succeeded which has no result of its own: under `--json` the value, else a note.
    pub(crate) fn done(&self, value: &impl Serialize, text: &str) -> Result<(), Failure> {
        if self.json {
            return self.value(value);
        }
        self.note(text);
        Ok(())
    }

    /// Writes text of the parser to stdout, help say, in its colours where they are wanted.
    pub(crate) fn styled(&self, text: &clap::builder::StyledStr) -> Result<(), Failure> {
        if self.stdout.is_on() { self.raw(&text.ansi().to_string()) } else { self.raw(&text.to_string()) }
    }

    /// Writes text to stdout as it is, at once.
    pub(crate) fn raw(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::Output)
    }

    fn value(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).map_err(|error| Failure::Output(error.into()))?;
        text.push('\n');
        self.raw(&text)
    }

    /// A fact beside the result.
    pub(crate) fn note(&self, text: &str) {
        if !self.silent() {
            self.talk(text);
        }
    }

    /// Something questionable.
    pub(crate) fn warning(&self, text: &str) {
        if !self.silent() {
            self.talk(&format!("{}: {text}", self.stderr.warning("warning")));
        }
    }

    /// Writes to stderr whatever the options say. That stderr cannot be written is nothing anybody could be
    /// told.
    pub(crate) fn talk(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        // Whatever was read or typed may hold an address with a password.
        let _ = writeln!(stderr, "{}", abx_core::without_credentials(text.trim_end_matches('\n')));
    }
}
