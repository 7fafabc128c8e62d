//! What one look at a sandbox came to.

use abx_client::ClientError;
use abx_spec::suite::{Expect, holds};
use abx_spec::{At, Place};

use super::report::Mismatch;
use crate::Error;

/// What was not as it must be, and what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) failures: Vec<Mismatch>,
    pub(super) output: Vec<String>,
}

/// Why a test could not look.
#[derive(Debug)]
pub(super) enum Unseen {
    /// The daemon inside refused, or is gone.
    Client(ClientError),
    Facade(Error),
}

impl From<ClientError> for Unseen {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<Error> for Unseen {
    fn from(error: Error) -> Self {
        Self::Facade(error)
    }
}

impl std::fmt::Display for Unseen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::Facade(error) => error.fmt(f),
        }
    }
}

impl Finding {
    /// Adds something that was not as it must be.
    pub(super) fn miss(&mut self, place: &Place, what: impl Into<String>, expected: String, actual: String) {
        let Place { file, line, column } = place.clone();
        self.failures.push(Mismatch { what: what.into(), expected, actual, file, line, column });
    }

    /// Adds it where the two differ.
    pub(super) fn same<T: PartialEq + std::fmt::Display>(&mut self, wanted: &At<T>, what: &str, actual: T) {
        if wanted.value != actual {
            self.miss(&wanted.place, what, wanted.value.to_string(), actual.to_string());
        }
    }

    /// Adds every demand that a text does not meet.
    pub(super) fn text(&mut self, demands: &[At<Expect>], what: &str, actual: &str) {
        for demand in demands.iter().filter(|demand| !holds(&demand.value, actual)) {
            self.miss(&demand.place, what, demand.value.to_string(), actual.trim_end().to_owned());
        }
    }

    /// Keeps what a process wrote.
    pub(super) fn wrote(&mut self, stream: &str, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            self.output.push(format!("{stream}:"));
            self.output.extend(text.lines().map(str::to_owned));
        }
    }
}
