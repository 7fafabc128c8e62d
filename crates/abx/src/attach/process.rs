//! What must be known of a process to stay with it: three handles that are used side by side.

use abx_client::{ClientError, Exit, ProcessControl, ProcessEvent, ProcessInput, ProcessStream, PtySize};
use bytes::Bytes;

use crate::terminal::Size;

/// How a process ended for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitOutcome {
    /// It ended.
    Ended(Exit),
    /// It runs on: this signal to the caller ended the wait.
    Left(u8),
}

impl ExitOutcome {
    /// The exit status of `abx`: the process's own, or 128 and the signal's number.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Ended(exit) => exit.shell_status(),
            Self::Left(signal) => 128 + signal,
        }
    }
}

/// The events of a process, in order.
pub(crate) trait Events {
    /// The next event; `None` where the stream ends without the end of the process.
    async fn next(&mut self) -> Result<Option<ProcessEvent>, ClientError>;
}

/// Writes a process's input.
pub(crate) trait Sink {
    /// Waits while the process takes none; fails once it takes no more.
    async fn send(&mut self, bytes: Bytes) -> Result<(), ClientError>;
    /// Ends the input.
    async fn close(self) -> Result<(), ClientError>;
}

/// Reaches a process while its events are read.
pub(crate) trait Control {
    async fn resize(&self, size: Size) -> Result<(), ClientError>;
    /// Signals the process's whole group.
    async fn signal(&self, number: u8) -> Result<(), ClientError>;
}

impl Events for ProcessStream {
    async fn next(&mut self) -> Result<Option<ProcessEvent>, ClientError> {
        Self::next(self).await
    }
}

impl Sink for ProcessInput {
    async fn send(&mut self, bytes: Bytes) -> Result<(), ClientError> {
        Self::send(self, bytes).await
    }

    async fn close(self) -> Result<(), ClientError> {
        Self::close(self).await
    }
}

impl Control for ProcessControl {
    async fn resize(&self, size: Size) -> Result<(), ClientError> {
        Self::resize(self, size.into()).await
    }

    async fn signal(&self, number: u8) -> Result<(), ClientError> {
        Self::signal(self, number.into()).await
    }
}

impl From<Size> for PtySize {
    fn from(size: Size) -> Self {
        Self { cols: size.columns.into(), rows: size.rows.into() }
    }
}
