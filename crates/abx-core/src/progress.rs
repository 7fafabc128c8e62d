//! Progress as data: stages emit events; the command line draws them, a server streams them, tests record
//! them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Names one piece of work between its `Started` and `Finished`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TaskId(u64);

impl TaskId {
    /// A number no other task of this process has.
    #[expect(clippy::new_without_default, reason = "each call yields another value")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What the amounts of a task count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a transfer.
    Bytes,
    /// Items of any kind: packages, files, steps.
    Items,
}

/// Something that happened in a long operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A piece of work begins. `total` is `None` where the amount is not known beforehand.
    Started { task: TaskId, label: String, total: Option<u64>, unit: Unit },
    /// So much of it is done now (absolute, not a difference).
    Advanced { task: TaskId, done: u64 },
    /// A line of output of the work: a build step's log.
    Output { task: TaskId, line: String },
    /// It is over; `label` says what it came to (`cached`, `42 packages`), may be empty.
    Finished { task: TaskId, outcome: String },
    /// A fact the user should know, such as where a base image came from.
    Note(String),
    /// Something questionable that does not stop the work.
    Warning(String),
}

/// Takes events. Implementations must not block for long: they run inside the work.
pub trait Progress: Send + Sync {
    /// Takes one event.
    fn event(&self, event: Event);

    /// Begins a piece of work and returns the handle that ends it.
    fn start(&self, label: impl Into<String>, total: Option<u64>, unit: Unit) -> Task<'_>
    where
        Self: Sized,
    {
        start(self, label, total, unit)
    }
}

/// [`Progress::start`] for a trait object.
pub fn start<'a>(
    progress: &'a dyn Progress,
    label: impl Into<String>,
    total: Option<u64>,
    unit: Unit,
) -> Task<'a> {
    let task = TaskId::new();
    progress.event(Event::Started { task, label: label.into(), total, unit });
    Task { progress, task, done: AtomicU64::new(0), outcome: String::new() }
}

/// A running piece of work; dropping it emits `Finished`.
pub struct Task<'a> {
    progress: &'a dyn Progress,
    task: TaskId,
    done: AtomicU64,
    outcome: String,
}

impl Task<'_> {
    /// Adds to the amount done.
    pub fn advance(&self, by: u64) {
        let done = self.done.fetch_add(by, Ordering::Relaxed) + by;
        self.progress.event(Event::Advanced { task: self.task, done });
    }

    /// Reports a line of output.
    pub fn output(&self, line: impl Into<String>) {
        self.progress.event(Event::Output { task: self.task, line: line.into() });
    }

    /// Ends the work and says what it came to.
    pub fn finish(mut self, outcome: impl Into<String>) {
        self.outcome = outcome.into();
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let outcome = std::mem::take(&mut self.outcome);
        self.progress.event(Event::Finished { task: self.task, outcome });
    }
}

/// Drops every event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn event(&self, _: Event) {}
}
