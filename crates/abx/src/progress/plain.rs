//! Progress as lines, for logs and pipes.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use abx_core::Event;
use abx_core::progress::TaskId;

use crate::output::{Paint, human};
use crate::report::log_line;

/// Writes one line where a step begins and one where it ends.
pub(crate) struct Plain<W> {
    paint: Paint,
    verbose: bool,
    state: Mutex<State<W>>,
}

struct State<W> {
    out: W,
    closed: bool,
    running: HashMap<TaskId, (String, Instant)>,
}

impl<W: Write> Plain<W> {
    /// Writes to `out`; `verbose` adds the output of the steps.
    pub(crate) fn new(out: W, paint: Paint, verbose: bool) -> Self {
        let state = State { out, closed: false, running: HashMap::new() };
        Self { paint, verbose, state: Mutex::new(state) }
    }

    /// Takes one event.
    pub(crate) fn event(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return;
        }
        if let Some(line) = self.line(&mut state.running, event) {
            // Progress that cannot be written is not worth failing for.
            let _ = writeln!(state.out, "{line}");
        }
    }

    /// Ignores events from now on.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
    }

    fn line(&self, running: &mut HashMap<TaskId, (String, Instant)>, event: Event) -> Option<String> {
        match event {
            Event::Started { task, label, .. } => {
                let label = log_line(&label);
                let line = format!("{label} ...");
                running.insert(task, (label, Instant::now()));
                Some(line)
            }
            Event::Output { line, .. } => self.verbose.then(|| format!("  | {}", log_line(&line))),
            Event::Finished { task, outcome } => {
                let (label, since) = running.remove(&task)?;
                let line = format!("{label}: {}{}", log_line(&outcome), duration(since.elapsed()));
                (!outcome.is_empty()).then_some(line)
            }
            Event::Note(text) => Some(format!("{}: {}", self.paint.help("note"), log_line(&text))),
            Event::Warning(text) => Some(format!("{}: {}", self.paint.warning("warning"), log_line(&text))),
            _ => None,
        }
    }
}

/// ` (12.3s)`; nothing for what was quick.
pub(super) fn duration(took: Duration) -> String {
    if took < Duration::from_secs(1) { String::new() } else { format!(" ({})", human::took(took)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::progress::Unit;

    fn lines(verbose: bool, events: Vec<Event>) -> String {
        let plain = Plain::new(Vec::new(), Paint::new(false), verbose);
        events.into_iter().for_each(|event| plain.event(event));
        let state = plain.state.into_inner().expect("not poisoned");
        String::from_utf8(state.out).expect("text")
    }

    fn started(task: TaskId, label: &str) -> Event {
        Event::Started { task, label: label.into(), total: Some(9), unit: Unit::Bytes }
    }

    #[test]
    fn a_step_is_two_lines_however_much_it_says() {
        let (first, second) = (TaskId::new(), TaskId::new());
        let events = vec![
            started(first, "apt curl"),
            started(second, "pip numpy"),
            Event::Advanced { task: first, done: 3 },
            Event::Output { task: first, line: "10%\rGet:1 \u{1b}[1mcurl\r".into() },
            Event::Finished { task: second, outcome: String::new() },
            Event::Finished { task: first, outcome: "12 packages".into() },
            Event::Note("base image from the archive".into()),
            Event::Warning("skipped `x`".into()),
        ];
        assert_eq!(
            lines(false, events.clone()),
            "apt curl ...\npip numpy ...\napt curl: 12 packages\nnote: base image from the archive\nwarning: skipped `x`\n"
        );
        assert!(lines(true, events).contains("\n  | Get:1 curl\n"));
    }

    #[test]
    fn nothing_comes_after_close_and_unknown_tasks_are_ignored() {
        let plain = Plain::new(Vec::new(), Paint::new(false), false);
        plain.event(Event::Finished { task: TaskId::new(), outcome: "done".into() });
        plain.close();
        plain.event(Event::Note("late".into()));
        assert!(plain.state.into_inner().expect("not poisoned").out.is_empty());
    }
}
