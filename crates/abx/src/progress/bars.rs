//! Progress as bars at the bottom of the terminal.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use abx_core::Event;
use abx_core::progress::{TaskId, Unit};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plain::duration;
use crate::output::Paint;
use crate::report::log_line;

/// Redraws a second.
const RATE: u8 = 15;
/// Stands before what is finished.
const DONE: &str = "✓";
/// Letters of a label beside a bar.
const LABEL: usize = 56;

/// A bar for each running piece of work. Finished ones vanish; those with an outcome leave a line above.
pub(super) struct Bars {
    multi: MultiProgress,
    /// Writes a line that stays, while no bar is drawn.
    write_line: WriteLine,
    paint: Paint,
    verbose: bool,
    running: HashMap<TaskId, Running>,
}

type WriteLine = Box<dyn Fn(&str) + Send + Sync>;

struct Running {
    bar: ProgressBar,
    label: String,
    since: Instant,
}

impl Bars {
    /// Draws on stderr; `verbose` lets the output of steps scroll by above the bars.
    pub(super) fn new(paint: Paint, verbose: bool) -> Self {
        let write_line = |line: &str| {
            // Progress that cannot be written is not worth failing for.
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        Self::on(ProgressDrawTarget::stderr_with_hz(RATE), Box::new(write_line), paint, verbose)
    }

    fn on(target: ProgressDrawTarget, write_line: WriteLine, paint: Paint, verbose: bool) -> Self {
        let multi = MultiProgress::with_draw_target(target);
        Self { multi, write_line, paint, verbose, running: HashMap::new() }
    }

    /// Takes an event that happened at `at`.
    pub(super) fn event(&mut self, event: Event, at: Instant) {
        match event {
            Event::Started { task, label, total, unit } => {
                let running = self.start(log_line(&label), total, unit, at);
                self.running.insert(task, running);
            }
            Event::Advanced { task, done } => {
                if let Some(running) = self.running.get(&task) {
                    running.bar.set_position(done);
                }
            }
            Event::Output { task, line } => self.output(self.running.get(&task), &log_line(&line)),
            Event::Finished { task, outcome } => {
                if let Some(running) = self.running.remove(&task) {
                    self.finish(&running, &log_line(&outcome), at);
                }
            }
            Event::Note(text) => self.line(&format!("{}: {}", self.paint.help("note"), log_line(&text))),
            Event::Warning(text) => {
                self.line(&format!("{}: {}", self.paint.warning("warning"), log_line(&text)));
            }
            _ => {}
        }
    }

    /// Shows the end of a task that has not been started.
    pub(super) fn finished_at_once(&self, label: &str, outcome: &str) {
        self.line(&format!("{} {}: {}", self.paint.good(DONE), log_line(label), log_line(outcome)));
    }

    /// Removes the bars.
    pub(super) fn clear(&mut self) {
        for (_, running) in self.running.drain() {
            running.bar.finish_and_clear();
        }
        // A terminal that is gone needs no clearing.
        let _ = self.multi.clear();
    }

    fn start(&self, label: String, total: Option<u64>, unit: Unit, since: Instant) -> Running {
        let bar = self.multi.add(total.map_or_else(ProgressBar::no_length, ProgressBar::new));
        bar.set_style(style(total, unit));
        bar.set_prefix(self.paint.bold(&shorten(&label)));
        if total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(120));
        } else {
            bar.tick();
        }
        Running { bar, label, since }
    }

    fn output(&self, running: Option<&Running>, line: &str) {
        if self.verbose {
            self.line(&self.paint.dim(line));
        } else if let Some(running) = running.filter(|_| !line.is_empty()) {
            running.bar.set_message(self.paint.dim(line));
        }
    }

    fn finish(&self, running: &Running, outcome: &str, at: Instant) {
        running.bar.finish_and_clear();
        self.multi.remove(&running.bar);
        if !outcome.is_empty() {
            let took = duration(at - running.since);
            self.line(&format!("{} {}: {outcome}{took}", self.paint.good(DONE), running.label));
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
        let mut bars = bars(&term);
        let mut event = |event| bars.event(event, Instant::now());
        let (step, fetch) = (TaskId::new(), TaskId::new());
        event(started(step, "apt curl", None, Unit::Items));
        event(started(fetch, "curl.deb", Some(1000), Unit::Bytes));
        event(Event::Output { task: step, line: "Setting up curl".into() });
        event(Event::Advanced { task: fetch, done: 1000 });
        assert!(term.contents().contains("apt curl"), "{}", term.contents());
        event(Event::Note("a fact".into()));
        event(Event::Finished { task: fetch, outcome: String::new() });
        event(Event::Finished { task: step, outcome: "3 packages".into() });
        bars.finished_at_once("pip", "cached");
        bars.clear();
        assert_eq!(term.contents(), "note: a fact\n✓ apt curl: 3 packages\n✓ pip: cached");
    }

    #[test]
    fn clearing_in_the_middle_leaves_nothing() {
        let term = InMemoryTerm::new(10, 80);
        let mut bars = bars(&term);
        for _ in 0..20 {
            bars.event(started(TaskId::new(), "download", None, Unit::Bytes), Instant::now());
        }
        bars.clear();
        assert_eq!(term.contents(), "");
    }

    #[test]
    fn a_long_label_is_cut_at_a_letter() {
        assert_eq!(shorten("short"), "short");
        assert_eq!(shorten(&"数".repeat(100)).chars().count(), LABEL);
    }
}
