//! Progress events as a person sees them.
//!
//! In: events of `abx_core::progress`, from any number of threads. Out: bars on a terminal ([`bars`]), plain lines
//! elsewhere ([`plain`]), nothing under `-q`. What is over in a moment is not shown on its way ([`patience`]). A
//! finish without an outcome (work given up, or not worth a word) leaves no line.

mod bars;
mod patience;
mod plain;

use std::io::IsTerminal;
use std::time::Instant;

use abx_core::{Event, Progress};

use crate::cli::ProgressMode;
use crate::output::Printer;
use crate::terminal::understands_escapes;
use bars::Bars;
use patience::Patience;
use plain::Plain;

/// Takes events and draws them. Dropping it removes what is drawn.
pub(crate) struct Reporter {
    /// `None` where nobody wants to see anything.
    patience: Option<Patience>,
}

/// Whether work that took no time is worth a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Only what took its time: a cached build says nothing.
    Work,
    /// Every step.
    Everything,
}

impl Reporter {
    /// What suits the caller's terminal and options.
    pub(crate) fn new(printer: &Printer, mode: ProgressMode, detail: Detail) -> Self {
        let (paint, verbose) = (printer.paint(), printer.verbose() > 0);
        let bars = mode == ProgressMode::Auto && std::io::stderr().is_terminal() && understands_escapes();
        let drawing = || match bars {
            true => Drawing::Bars(Bars::new(paint, verbose)),
            false => Drawing::Plain(Plain::new(Box::new(std::io::stderr()), paint, verbose)),
        };
        Self { patience: (!printer.silent()).then(|| Patience::new(drawing(), detail)) }
    }

    /// Removes what is drawn and ignores events from now on: work that is being abandoned may still emit some.
    pub(crate) fn close(&self) {
        if let Some(patience) = &self.patience {
            patience.close();
        }
    }
}

impl Progress for Reporter {
    fn event(&self, event: Event) {
        if let Some(patience) = &self.patience {
            patience.event(event);
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.close();
    }
}

/// One of the two ways to draw.
enum Drawing {
    Plain(Plain),
    Bars(Bars),
}

impl Drawing {
    /// Takes an event that happened at `at`.
    fn event(&mut self, event: Event, at: Instant) {
        match self {
            Self::Plain(plain) => plain.event(event, at),
            Self::Bars(bars) => bars.event(event, at),
        }
    }

    /// Shows the end of a task that has not been started.
    fn finished_at_once(&mut self, label: &str, outcome: &str) {
        match self {
            Self::Plain(plain) => plain.finished_at_once(label, outcome),
            Self::Bars(bars) => bars.finished_at_once(label, outcome),
        }
    }

    /// Removes what is drawn.
    fn clear(&mut self) {
        match self {
            Self::Plain(_) => {}
            Self::Bars(bars) => bars.clear(),
        }
    }
}
