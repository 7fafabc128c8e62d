//! What the client of one execution hears.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_protocol::code::{Event, Text};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// How long it may hear nothing.
const SILENCE: Duration = Duration::from_secs(5);
/// Events that may wait for a slow client; then the kernel waits.
const DEPTH: usize = 64;

/// Events out, a line each.
#[derive(Debug)]
pub(crate) struct Outlet {
    lines: mpsc::Sender<Bytes>,
    last: Instant,
}

impl Outlet {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Bytes>) {
        let (lines, receiver) = mpsc::channel(DEPTH);
        (Self { lines, last: Instant::now() }, receiver)
    }

    /// Waits until the client has room for it. One that is gone hears nothing.
    pub(crate) async fn emit(&mut self, event: &Event) {
        // One that is gone shows in `gone`.
        let _ = self.lines.send(line(event)).await;
        self.last = Instant::now();
    }

    pub(crate) async fn stdout(&mut self, text: String) {
        self.emit(&Event::Stdout(stamped(text))).await;
    }

    pub(crate) async fn stderr(&mut self, text: String) {
        self.emit(&Event::Stderr(stamped(text))).await;
    }

    /// Whether nobody listens any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.lines.is_closed()
    }

    /// Does the work while the silence is broken, whether anybody listens or not.
    pub(crate) async fn beside<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => return done,
            () = self.gone() => {}
        }
        work.await
    }

    /// Resolves when nobody listens any more, and breaks the silence meanwhile.
    pub(crate) async fn gone(&mut self) {
        loop {
            tokio::select! {
                () = self.lines.closed() => return,
                () = sleep_until(self.last + SILENCE) => {
                    // Where there is no room it is not silent.
                    let _ = self.lines.try_send(line(&Event::Keepalive));
                    self.last = Instant::now();
                }
            }
        }
    }
}

fn line(event: &Event) -> Bytes {
    let mut line = serde_json::to_vec(event).expect("keys are strings");
    line.push(b'\n');
    line.into()
}

fn stamped(text: String) -> Text {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Text { text, timestamp: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX) }
}
