//! What a user sees of a cell while it runs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agent_sandbox::code::{CodeResult, Event, Execution};

use super::files;
use crate::output::Printer;
use crate::{EdgeError, Failure};

/// Output passes through; values are printed, pictures saved. Under `--json` nothing is said until the end.
pub(super) struct Show<'a> {
    printer: &'a Printer,
    directory: Option<PathBuf>,
}

impl<'a> Show<'a> {
    pub(super) fn new(printer: &'a Printer, directory: Option<PathBuf>) -> Self {
        Self { printer, directory }
    }

    /// Shows what happened.
    pub(super) fn event(&self, event: &Event) -> Result<(), Failure> {
        if let Event::Result(result) = event {
            return self.result(result);
        }
        if self.printer.json() {
            return Ok(());
        }
        match event {
            Event::Stdout(text) => self.printer.raw(&text.text),
            Event::Stderr(text) => {
                talk(&text.text);
                Ok(())
            }
            Event::Error(error) => {
                let traceback = if self.printer.paint().is_on() {
                    error.traceback.clone()
                } else {
                    without_escapes(&error.traceback)
                };
                talk(&format!("{}\n", traceback.trim_end()));
                Ok(())
            }
            Event::KernelRestarted { reason } => {
                let note =
                    format!("the kernel had ended ({reason}); a new one runs, without what was defined");
                self.printer.note(&note);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn result(&self, result: &CodeResult) -> Result<(), Failure> {
        let files = match &self.directory {
            Some(directory) => {
                std::fs::create_dir_all(directory)
                    .map_err(|source| EdgeError::Write { path: directory.clone(), source })?;
                files::save(directory, result, true)?
            }
            None if self.printer.json() => Vec::new(),
            None => files::save(Path::new(""), result, false)?,
        };
        if self.printer.json() {
            return Ok(());
        }
        if let Some(text) = readable(result) {
            self.line(&text)?;
        }
        files.iter().try_for_each(|file| self.line(&file.display().to_string()))
    }

    fn line(&self, text: &str) -> Result<(), Failure> {
        self.printer.raw(&format!("{}\n", text.strip_suffix('\n').unwrap_or(text)))
    }

    /// Everything together, under `--json`.
    pub(super) fn whole(&self, execution: &Execution) -> Result<(), Failure> {
        if self.printer.json() { self.printer.result(execution, "") } else { Ok(()) }
    }
}

/// The form that a terminal can show.
fn readable(result: &CodeResult) -> Option<String> {
    if files::tells(result) {
        return result.text.clone();
    }
    result.markdown.clone().or_else(|| result.json.as_ref().map(|json| format!("{json:#}")))
}

/// Standard error that cannot be written is nothing anybody could be told.
fn talk(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Without colours and what else a terminal would obey.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\x1b' {
            plain.push(letter);
        } else if letters.next() == Some('[') {
            letters.by_ref().find(|letter| ('@'..='~').contains(letter));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_and_text_stays() {
        assert_eq!(without_escapes("\x1b[0;31mValueError\x1b[0m: ä [x]"), "ValueError: ä [x]");
        assert_eq!(without_escapes("cut\x1b[3"), "cut");
    }
}
