//! Watches that outlive a call, and the stream of one that does not.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use abx_protocol::connect::{CallError, ErrorCode};
use abx_protocol::envelope;
use abx_protocol::filesystem::{FilesystemEvent, WatchDirResponse, WatchEvent, WatchStarted};
use abx_protocol::process::KeepAlive;
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::watch::Watch;
use crate::activity::Busy;
use crate::http::rpc::Call;

/// A watcher nobody asks keeps so many events, the newest.
const MAX_EVENTS: usize = 16 << 10;

/// Watches by the identifier their makers know.
#[derive(Default)]
pub(crate) struct Watchers {
    next: Cell<u64>,
    watchers: RefCell<HashMap<String, Watcher>>,
}

struct Watcher {
    backlog: Rc<RefCell<Backlog>>,
    collector: AbortHandle,
}

struct Backlog {
    watch: Watch,
    events: VecDeque<FilesystemEvent>,
}

impl Backlog {
    fn collect(&mut self) {
        self.events.extend(self.watch.take());
        let excess = self.events.len().saturating_sub(MAX_EVENTS);
        self.events.drain(..excess);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.collector.abort();
    }
}

impl Watchers {
    /// Keeps a watch and empties the kernel's queue of it from time to time.
    pub(crate) fn add(&self, watch: Watch) -> String {
        let number = self.next.get();
        self.next.set(number + 1);
        let id = format!("w{number:08x}");
        let backlog = Rc::new(RefCell::new(Backlog { watch, events: VecDeque::new() }));
        let collector = tokio::task::spawn_local(collect(backlog.clone())).abort_handle();
        self.watchers.borrow_mut().insert(id.clone(), Watcher { backlog, collector });
        id
    }

    /// What happened since the last call, up to this moment; `None` where there is no such watcher.
    pub(crate) fn take_events(&self, id: &str) -> Option<Vec<FilesystemEvent>> {
        let watchers = self.watchers.borrow();
        let mut backlog = watchers.get(id)?.backlog.borrow_mut();
        backlog.collect();
        Some(backlog.events.drain(..).collect())
    }

    /// Whether there was such a watcher.
    pub(crate) fn remove(&self, id: &str) -> bool {
        self.watchers.borrow_mut().remove(id).is_some()
    }
}

async fn collect(backlog: Rc<RefCell<Backlog>>) {
    let pace = std::time::Duration::from_millis(500);
    loop {
        tokio::time::sleep(pace).await;
        backlog.borrow_mut().collect();
    }
}

/// The start, then each change as it happens.
pub(super) fn stream(call: Call, watch: Watch, busy: Busy) -> impl Stream<Item = Bytes> {
    let start = WatchEvent::Start(WatchStarted {});
    let listener =
        Listener { call, watch, queue: VecDeque::from([start]), ended: false, _busy: busy.into_stream() };
    stream::unfold(listener, |mut listener| async move { Some((listener.next().await?, listener)) })
}

struct Listener {
    call: Call,
    watch: Watch,
    queue: VecDeque<WatchEvent>,
    ended: bool,
    _busy: Busy,
}

impl Listener {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        match self.event().await {
            Ok(event) => Some(envelope::message(self.call.codec, &WatchDirResponse::from(event))),
            Err(error) => {
                self.ended = true;
                Some(envelope::end(Err(&error)))
            }
        }
    }

    async fn event(&mut self) -> Result<WatchEvent, CallError> {
        let idle = Instant::now() + self.call.keepalive;
        let deadline = self.call.deadline;
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(event);
            }
            let until = deadline.map_or(idle, |deadline| deadline.min(idle));
            match timeout_at(until, self.watch.changed()).await {
                Ok(Ok(())) => {
                    let events = self.watch.take();
                    self.queue
                        .extend(events.into_iter().map(|event| WatchEvent::Filesystem(Box::new(event))));
                }
                Ok(Err(error)) => {
                    return Err(CallError::new(ErrorCode::Internal, format!("watcher error: {error}")));
                }
                Err(_) if until == idle => return Ok(WatchEvent::KeepAlive(KeepAlive {})),
                Err(_) => return Err(CallError::new(ErrorCode::DeadlineExceeded, "the call's time is up")),
            }
        }
    }
}
