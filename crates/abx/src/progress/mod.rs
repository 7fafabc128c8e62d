//! Progress events as a person sees them.
//!
//! In: events of `abx_core::progress`, from any number of threads. Out: bars on a terminal, plain lines
//! elsewhere, nothing under `-q`. A finish without an outcome (work given up, or not worth a word) leaves no
//! line.

mod bars;
mod plain;

use std::io::IsTerminal;

use abx_core::{Event, Progress};

use crate::cli::ProgressMode;
use crate::output::Printer;
use crate::terminal::understands_escapes;
use bars::Bars;
use plain::Plain;

/// Draws events. Dropping it removes what is drawn.
pub(crate) enum Reporter {
    /// Nobody wants to see anything.
    Silent,
    /// A line for each step that begins or ends.
    Plain(Plain<std::io::Stderr>),
    /// Bars at the bottom of the terminal.
    Bars(Bars),
}

impl Reporter {
    /// What suits the caller's terminal and options.
    pub(crate) fn new(printer: &Printer, mode: ProgressMode) -> Self {
        let verbose = printer.verbose() > 0;
        if printer.silent() {
            Self::Silent
        } else if mode == ProgressMode::Auto && std::io::stderr().is_terminal() && understands_escapes() {
            Self::Bars(Bars::new(printer.paint(), verbose))
        } else {
            Self::Plain(Plain::new(std::io::stderr(), printer.paint(), verbose))
        }
    }

    /// Removes what is drawn and ignores events from now on: work that is being abandoned may still emit some.
    pub(crate) fn close(&self) {
        match self {
            Self::Silent => {}
            Self::Plain(plain) => plain.close(),
            Self::Bars(bars) => bars.close(),
        }
    }
}

impl Progress for Reporter {
    fn event(&self, event: Event) {
        match self {
            Self::Silent => {}
            Self::Plain(plain) => plain.event(event),
            Self::Bars(bars) => bars.event(event),
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.close();
    }
}
