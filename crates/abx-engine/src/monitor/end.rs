//! Why a sandbox ends or stops, and who waits for that.

use std::io::Write;

use tokio::net::UnixStream;

use crate::control::Answer;
use crate::{Cause, Record};

/// What supervision has come to.
pub(super) struct End {
    pub cause: Cause,
    /// Who asked for it, and waits until nothing of the sandbox runs.
    asker: Option<std::os::unix::net::UnixStream>,
}

impl End {
    /// An end that nobody asked for.
    pub(super) fn of(cause: impl Into<Cause>) -> Self {
        Self { cause: cause.into(), asker: None }
    }

    pub(super) fn asked(cause: impl Into<Cause>, asker: UnixStream) -> Self {
        Self { cause: cause.into(), asker: asker.into_std().ok() }
    }

    /// Tells the asker that it is done.
    pub(super) fn answer(self, record: Record) {
        let Some(mut stream) = self.asker else { return };
        // The answer fits the socket's buffer, or the asker reads; one that is gone needs no answer.
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_write_timeout(Some(std::time::Duration::from_secs(1)));
        let _ = serde_json::to_writer(&mut stream, &Answer::Ok(Box::new(record)));
        let _ = stream.write_all(b"\n");
    }
}
