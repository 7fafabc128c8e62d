//! Progress as bars at the bottom of the terminal.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use abx_core::Event;
use abx_core::progress::{TaskId, Unit};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plain::duration;
use crate::output::Paint;
use crate::report::log_line;

/// Redraws a second.
const RATE: u8 = 15;
/// Letters of a label beside a bar.
const LABEL: usize = 56;

/// A bar for each running piece of work. Finished ones vanish; those with an outcome leave a line above.
pub(crate) struct Bars {
    multi: MultiProgress,
    /// Writes a line that stays, while no bar is drawn.
    write_line: WriteLine,
    paint: Paint,
    verbose: bool,
    state: Mutex<State>,
}

type WriteLine = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct State {
    closed: bool,
    running: HashMap<TaskId, Running>,
}

struct Running {
    bar: ProgressBar,
    label: String,
    since: Instant,
}

impl Bars {
    /// Draws on stderr; `verbose` lets the output of steps scroll by above the bars.
    pub(crate) fn new(paint: Paint, verbose: bool) -> Self {
        let write_line = |line: &str| {
            // Progress that cannot be written is not worth failing for.
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        Self::on(ProgressDrawTarget::stderr_with_hz(RATE), Box::new(write_line), paint, verbose)
    }

    fn on(target: ProgressDrawTarget, write_line: WriteLine, paint: Paint, verbose: bool) -> Self {
        let multi = MultiProgress::with_draw_target(target);
        Self { multi, write_line, paint, verbose, state: Mutex::default() }
    }

    /// Takes one event.
    pub(crate) fn event(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return;
        }
        match event {
            Event::Started { task, label, total, unit } => {
                let running = self.start(log_line(&label), total, unit);
                state.running.insert(task, running);
            }
            Event::Advanced { task, done } => {
                if let Some(running) = state.running.get(&task) {
                    running.bar.set_position(done);
                }
            }
            Event::Output { task, line } => self.output(state.running.get(&task), &log_line(&line)),
            Event::Finished { task, outcome } => {
                if let Some(running) = state.running.remove(&task) {
                    self.finish(running, &log_line(&outcome));
                }
            }
            Event::Note(text) => self.line(&format!("{}: {}", self.paint.help("note"), log_line(&text))),
            Event::Warning(text) => {
                self.line(&format!("{}: {}", self.paint.warning("warning"), log_line(&text)));
            }
            _ => {}
        }
    }

    /// Removes the bars and ignores events from now on.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        for (_, running) in state.running.drain() {
            running.bar.finish_and_clear();
        }
        // A terminal that is gone needs no clearing.
        let _ = self.multi.clear();
    }

    fn start(&self, label: String, total: Option<u64>, unit: Unit) -> Running {
        let bar = self.multi.add(total.map_or_else(ProgressBar::no_length, ProgressBar::new));
        bar.set_style(style(total, unit));
        bar.set_prefix(self.paint.bold(&shorten(&label)));
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(120));
        } else {
            bar.tick();
        }
        Running { bar, label, since: Instant::now() }
    }

    fn output(&self, running: Option<&Running>, line: &str) {
        if self.verbose {
            self.line(&self.paint.dim(line));
        } else if let Some(running) = running.filter(|_| !line.is_empty()) {
            running.bar.set_message(self.paint.dim(line));
        }
    }

    fn finish(&self, running: Running, outcome: &str) {
        running.bar.finish_and_clear();
        self.multi.remove(&running.bar);
        if !outcome.is_empty() {
            let took = duration(running.since.elapsed());
            self.line(&format!("{} {}: {outcome}{took}", self.paint.good("✓"), running.label));
        }
    }

    fn line(&self, line: &str) {
        self.multi.suspend(|| (self.write_line)(line));
    }
}

fn style(total: Option<u64>, unit: Unit) -> ProgressStyle {
    let template = match (total, unit) {
        (Some(_), Unit::Bytes) => "{prefix} {bar:24} {bytes}/{total_bytes} {bytes_per_sec}",
        (None, Unit::Bytes) => "{spinner} {prefix} {bytes} {bytes_per_sec}",
        (Some(_), Unit::Items) => "{prefix} {bar:24} {pos}/{len} {wide_msg}",
        (None, Unit::Items) => "{spinner} {prefix} {wide_msg}",
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
        .progress_chars("━╸ ")
        .tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
}

fn shorten(label: &str) -> String {
    if label.chars().count() <= LABEL {
        return label.to_owned();
    }
    label.chars().take(LABEL - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{InMemoryTerm, TermLike};

    fn bars(term: &InMemoryTerm) -> Bars {
        let target = ProgressDrawTarget::term_like(Box::new(term.clone()));
        let term = term.clone();
        let write_line = move |line: &str| term.write_line(line).expect("in memory");
        Bars::on(target, Box::new(write_line), Paint::new(false), false)
    }

    fn started(task: TaskId, label: &str, total: Option<u64>, unit: Unit) -> Event {
        Event::Started { task, label: label.into(), total, unit }
    }

    #[test]
    fn bars_vanish_and_steps_leave_one_line() {
        let term = InMemoryTerm::new(10, 80);
        let bars = bars(&term);
        let (step, fetch) = (TaskId::new(), TaskId::new());
        bars.event(started(step, "apt curl", None, Unit::Items));
        bars.event(started(fetch, "curl.deb", Some(1000), Unit::Bytes));
        bars.event(Event::Output { task: step, line: "Setting up curl".into() });
        bars.event(Event::Advanced { task: fetch, done: 1000 });
        assert!(term.contents().contains("apt curl"), "{}", term.contents());
        bars.event(Event::Note("a fact".into()));
        bars.event(Event::Finished { task: fetch, outcome: String::new() });
        bars.event(Event::Finished { task: step, outcome: "3 packages".into() });
        bars.close();
        assert_eq!(term.contents(), "note: a fact\n✓ apt curl: 3 packages");
    }

    #[test]
    fn a_close_in_the_middle_leaves_nothing_and_late_events_are_ignored() {
        let term = InMemoryTerm::new(10, 80);
        let bars = bars(&term);
        let tasks: Vec<TaskId> = (0..20).map(|_| TaskId::new()).collect();
        for task in &tasks {
            bars.event(started(*task, "download", None, Unit::Bytes));
        }
        bars.close();
        std::thread::scope(|scope| {
            for task in &tasks {
                scope.spawn(|| bars.event(Event::Advanced { task: *task, done: 1 }));
            }
        });
        bars.event(Event::Warning("late".into()));
        assert_eq!(term.contents(), "");
    }

    #[test]
    fn a_long_label_is_cut_at_a_letter() {
        assert_eq!(shorten("short"), "short");
        assert_eq!(shorten(&"数".repeat(100)).chars().count(), LABEL);
    }
}
