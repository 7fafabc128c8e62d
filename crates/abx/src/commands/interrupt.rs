//! Ctrl-C while an operation is under way.

use tokio::signal::unix::{SignalKind, signal};

use crate::EdgeError;
use crate::Failure;
use crate::progress::Reporter;

/// Waits for the operation. At SIGINT, SIGTERM or SIGHUP it is dropped, which ends its processes and removes
/// what is half made, and the progress drawn so far is taken away.
pub(super) async fn interruptible<T, E: Into<Failure>>(
    progress: &Reporter,
    operation: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    let listen = |kind| signal(kind).map_err(EdgeError::Signals);
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let number = tokio::select! {
        result = operation => return result.map_err(Into::into),
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
        _ = hangup.recv() => 1,
    };
    progress.close();
    Err(Failure::Interrupted(number))
}
