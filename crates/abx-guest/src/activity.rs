//! How busy the sandbox is, for the host's idle timeout.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// Counts calls and remembers the last sign of use.
pub(crate) struct Activity {
    calls: Cell<u32>,
    streams: Cell<u32>,
    last: Cell<Instant>,
}

impl Activity {
    pub(crate) fn new() -> Rc<Self> {
        Rc::new(Self { calls: Cell::new(0), streams: Cell::new(0), last: Cell::new(Instant::now()) })
    }

    /// Something happened.
    pub(crate) fn touch(&self) {
        self.last.set(Instant::now());
    }

    /// A call is under way until the guard is dropped.
    pub(crate) fn call(self: &Rc<Self>) -> Busy {
        self.calls.set(self.calls.get() + 1);
        self.touch();
        Busy { activity: self.clone(), stream: false }
    }

    pub(crate) fn calls(&self) -> u32 {
        self.calls.get()
    }

    pub(crate) fn streams(&self) -> u32 {
        self.streams.get()
    }

    /// Seconds without use; 0 while a call is under way.
    pub(crate) fn idle_seconds(&self) -> f64 {
        if self.calls.get() > 0 { 0.0 } else { self.last.get().elapsed().as_secs_f64() }
    }
}

/// Held while a call is under way.
pub(crate) struct Busy {
    activity: Rc<Activity>,
    stream: bool,
}

impl Busy {
    /// The call turned out to be a stream.
    pub(crate) fn into_stream(mut self) -> Self {
        self.stream = true;
        self.activity.streams.set(self.activity.streams.get() + 1);
        self
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity.calls.set(self.activity.calls.get() - 1);
        if self.stream {
            self.activity.streams.set(self.activity.streams.get() - 1);
        }
        self.activity.touch();
    }
}
