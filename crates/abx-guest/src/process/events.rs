//! One listener's stream on the wire.

use std::time::Duration;

use abx_protocol::connect::{CallError, ErrorCode};
use abx_protocol::envelope;
use abx_protocol::process::{Event, KeepAlive, ProcessEvent, StartEvent, StartResponse};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::activity::Busy;
use crate::http::rpc::Call;

/// From the start event over output to the end, with keepalives in between and `deadline_exceeded` where
/// the call's time is up.
pub(super) fn stream(
    call: Call,
    pid: u32,
    events: mpsc::Receiver<ProcessEvent>,
    busy: Busy,
) -> impl Stream<Item = Bytes> {
    let start = Event::Start(StartEvent { pid }).into();
    let listener =
        Listener { call, first: Some(start), events, state: State::Open, _busy: busy.into_stream() };
    stream::unfold(listener, |mut listener| async move { Some((listener.next().await?, listener)) })
}

struct Listener {
    call: Call,
    first: Option<ProcessEvent>,
    events: mpsc::Receiver<ProcessEvent>,
    state: State,
    _busy: Busy,
}

enum State {
    Open,
    /// The last event is out, the end of the stream is not.
    Ending,
    Ended,
}

impl Listener {
    async fn next(&mut self) -> Option<Bytes> {
        match self.state {
            State::Open => {}
            State::Ending => {
                self.state = State::Ended;
                return Some(envelope::end(Ok(())));
            }
            State::Ended => return None,
        }
        match self.event().await {
            Some(event) => Some(self.frame(event)),
            None => {
                self.state = State::Ended;
                let error = CallError::new(ErrorCode::DeadlineExceeded, "the call's time is up");
                Some(envelope::end(Err(&error)))
            }
        }
    }

    /// The next event, or `None` at the deadline.
    async fn event(&mut self) -> Option<ProcessEvent> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        let idle = Instant::now() + self.call.keepalive;
        let deadline = self.call.deadline.unwrap_or(idle + Duration::from_secs(1));
        if deadline <= Instant::now() {
            return None;
        }
        match timeout_at(idle.min(deadline), self.events.recv()).await {
            Ok(Some(event)) => Some(event),
            // The process always says that it ended; a silent end is the daemon's own.
            Ok(None) => None,
            Err(_) if deadline < idle => None,
            Err(_) => Some(Event::KeepAlive(KeepAlive {}).into()),
        }
    }

    fn frame(&mut self, event: ProcessEvent) -> Bytes {
        if matches!(event.event, Some(Event::End(_))) {
            self.state = State::Ending;
        }
        envelope::message(self.call.codec, &StartResponse { event: Some(event) })
    }
}
