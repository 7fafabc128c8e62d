//! Waits a moment before it shows a task, so that what is over at once does not flicker by.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use abx_core::Event;
use abx_core::progress::TaskId;

use super::{Detail, Drawing};

/// Tasks that end sooner are over at once.
const MOMENT: Duration = Duration::from_millis(200);

/// Holds the start of a task back until it has lasted a moment or says something.
pub(super) struct Patience {
    shared: Arc<Shared>,
    detail: Detail,
}

struct Shared {
    state: Mutex<State>,
    /// Something was held back, or all is over.
    changed: Condvar,
}

struct State {
    drawing: Drawing,
    /// In the order of their starts.
    held: Vec<Held>,
    has_thread: bool,
    closed: bool,
}

struct Held {
    task: TaskId,
    started: Event,
    at: Instant,
    /// The last of its amounts.
    advanced: Option<Event>,
}

impl Patience {
    /// Passes on to `drawing`.
    pub(super) fn new(drawing: Drawing, detail: Detail) -> Self {
        let state = State { drawing, held: Vec::new(), has_thread: false, closed: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }), detail }
    }

    /// Takes one event.
    pub(super) fn event(&self, event: Event) {
        let mut state = self.shared.lock();
        if state.closed {
            return;
        }
        let now = Instant::now();
        match &event {
            Event::Started { task, .. } => {
                let held = Held { task: *task, started: event.clone(), at: now, advanced: None };
                state.held.push(held);
                self.shared.watch(&mut state);
                self.shared.changed.notify_one();
            }
            Event::Advanced { task, .. } => match state.held.iter_mut().find(|held| held.task == *task) {
                Some(held) => held.advanced = Some(event),
                None => state.drawing.event(event, now),
            },
            Event::Finished { task, outcome } => match state.take(*task) {
                Some(held) => self.finish_held(&mut state, &held, outcome),
                None => state.drawing.event(event, now),
            },
            Event::Output { task, .. } => {
                if let Some(held) = state.take(*task) {
                    state.show(held);
                }
                state.drawing.event(event, now);
            }
            _ => state.drawing.event(event, now),
        }
    }

    /// Removes what is drawn and ignores events from now on.
    pub(super) fn close(&self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.held.clear();
        state.drawing.clear();
        self.shared.changed.notify_one();
    }

    fn finish_held(&self, state: &mut State, held: &Held, outcome: &str) {
        if let (Detail::Everything, false, Event::Started { label, .. }) =
            (self.detail, outcome.is_empty(), &held.started)
        {
            state.drawing.finished_at_once(label, outcome);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that shows what has waited long enough; without one, tasks show when they speak.
    fn watch(self: &Arc<Self>, state: &mut State) {
        if !state.has_thread {
            let shared = Arc::clone(self);
            let spawned = std::thread::Builder::new().name("abx-progress".into()).spawn(move || shared.run());
            state.has_thread = spawned.is_ok();
        }
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.closed {
            let now = Instant::now();
            while let Some(held) = state.take_due(now) {
                state.show(held);
            }
            state = match state.held.first().map(|held| (held.at + MOMENT) - now) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(wait) => {
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl State {
    /// The oldest, if its moment is over.
    fn take_due(&mut self, now: Instant) -> Option<Held> {
        self.held.first().is_some_and(|held| held.at + MOMENT <= now).then(|| self.held.remove(0))
    }

    fn take(&mut self, task: TaskId) -> Option<Held> {
        let at = self.held.iter().position(|held| held.task == task)?;
        Some(self.held.remove(at))
    }

    fn show(&mut self, held: Held) {
        self.drawing.event(held.started, held.at);
        if let Some(advanced) = held.advanced {
            self.drawing.event(advanced, held.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Paint;
    use crate::progress::plain::Plain;
    use crate::progress::plain::tests::Shown;
    use abx_core::progress::Unit;

    fn patience(detail: Detail) -> (Patience, Shown) {
        let shown = Shown::default();
        let plain = Plain::new(Box::new(shown.clone()), Paint::new(false), false);
        (Patience::new(Drawing::Plain(plain), detail), shown)
    }

    fn started(task: TaskId, label: &str) -> Event {
        Event::Started { task, label: label.into(), total: None, unit: Unit::Items }
    }

    fn finished(task: TaskId, outcome: &str) -> Event {
        Event::Finished { task, outcome: outcome.into() }
    }

    #[test]
    fn what_is_over_at_once_is_a_line_or_none() {
        for (detail, expected) in [(Detail::Work, "note: n\n"), (Detail::Everything, "note: n\na: cached\n")]
        {
            let (patience, shown) = patience(detail);
            let (a, b) = (TaskId::new(), TaskId::new());
            patience.event(started(a, "a"));
            patience.event(started(b, "b"));
            patience.event(Event::Note("n".into()));
            patience.event(finished(b, ""));
            patience.event(finished(a, "cached"));
            assert_eq!(shown.text(), expected);
        }
    }

    #[test]
    fn a_task_that_speaks_or_lasts_is_shown() {
        let (patience, shown) = patience(Detail::Work);
        let (speaks, lasts) = (TaskId::new(), TaskId::new());
        patience.event(started(speaks, "speaks"));
        patience.event(Event::Output { task: speaks, line: "x".into() });
        assert_eq!(shown.text(), "speaks ...\n");
        patience.event(finished(speaks, "done"));
        patience.event(started(lasts, "lasts"));
        while !shown.text().ends_with("lasts ...\n") {
            std::thread::yield_now();
        }
        patience.close();
        patience.event(finished(lasts, "late"));
        assert_eq!(shown.text(), "speaks ...\nspeaks: done\nlasts ...\n");
    }
}
