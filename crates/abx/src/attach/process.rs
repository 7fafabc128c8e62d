//! What must be known of a process to stay with it.

use crate::Failure;
use crate::terminal::Size;

/// What a process does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A piece of output, cut anywhere.
    Output(Stream, Vec<u8>),
    /// Always last.
    Ended(ExitOutcome),
}

/// Where output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output, or everything where the process has a terminal.
    Stdout,
    Stderr,
}

/// How a process ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitOutcome {
    /// By itself.
    Exited(u8),
    /// By a signal.
    Signalled(u8),
    /// It has not ended: a signal to the caller ended the wait.
    Left(u8),
}

impl ExitOutcome {
    /// The exit status of `abx`: the process's own, or 128 and the signal's number.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Signalled(signal) | Self::Left(signal) => 128u8.saturating_add(signal),
        }
    }
}

/// The events of a process, in order.
pub(crate) trait Events {
    /// The next event. Not called again after [`Event::Ended`].
    async fn next(&mut self) -> Result<Event, Failure>;
}

/// Calls that reach a process while its events are read. Errors mean that it takes no more of them, or that
/// the connection is lost, which its events then tell.
pub(crate) trait Control {
    async fn send_input(&self, bytes: Vec<u8>) -> Result<(), Failure>;
    async fn close_input(&self) -> Result<(), Failure>;
    async fn resize(&self, size: Size) -> Result<(), Failure>;
    /// Sends a signal to the process's whole group.
    async fn signal(&self, number: u8) -> Result<(), Failure>;
}
