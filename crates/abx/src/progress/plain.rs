//! Progress as lines, for logs and pipes.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use abx_core::Event;
use abx_core::progress::TaskId;

use crate::output::{Paint, human};
use crate::report::log_line;

/// Writes one line where a step begins and one where it ends.
pub(super) struct Plain {
    out: Box<dyn Write + Send>,
    paint: Paint,
    verbose: bool,
    running: HashMap<TaskId, (String, Instant)>,
}

impl Plain {
    /// Writes to `out`; `verbose` adds the output of the steps.
    pub(super) fn new(out: Box<dyn Write + Send>, paint: Paint, verbose: bool) -> Self {
        Self { out, paint, verbose, running: HashMap::new() }
    }

    /// Takes an event that happened at `at`.
    pub(super) fn event(&mut self, event: Event, at: Instant) {
        if let Some(line) = self.line(event, at) {
            self.write(&line);
        }
    }

    /// Shows the end of a task that has not been started.
    pub(super) fn finished_at_once(&mut self, label: &str, outcome: &str) {
        self.write(&format!("{}: {}", log_line(label), log_line(outcome)));
    }

    fn write(&mut self, line: &str) {
        // Progress that cannot be written is not worth failing for.
        let _ = writeln!(self.out, "{line}");
    }

    fn line(&mut self, event: Event, at: Instant) -> Option<String> {
        match event {
            Event::Started { task, label, .. } => {
                let label = log_line(&label);
                let line = format!("{label} ...");
                self.running.insert(task, (label, at));
                Some(line)
            }
            Event::Output { line, .. } => self.verbose.then(|| format!("  | {}", log_line(&line))),
            Event::Finished { task, outcome } => {
                let (label, since) = self.running.remove(&task)?;
                let line = format!("{label}: {}{}", log_line(&outcome), duration(at - since));
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
pub(super) mod tests {
    use super::*;
    use abx_core::progress::Unit;
    use std::sync::{Arc, Mutex};

    /// What has been written so far.
    #[derive(Clone, Default)]
    pub(in crate::progress) struct Shown(Arc<Mutex<Vec<u8>>>);

    impl Shown {
        pub(in crate::progress) fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("shown").clone()).expect("text")
        }
    }

    impl Write for Shown {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("shown").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn lines(verbose: bool, events: Vec<Event>) -> String {
        let shown = Shown::default();
        let mut plain = Plain::new(Box::new(shown.clone()), Paint::new(false), verbose);
        let at = Instant::now();
        events.into_iter().for_each(|event| plain.event(event, at));
        shown.text()
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
            Event::Finished { task: TaskId::new(), outcome: "unknown".into() },
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
    fn only_what_took_its_time_says_how_long() {
        assert_eq!(duration(Duration::from_millis(999)), "");
        assert_eq!(duration(Duration::from_millis(1500)), " (1.5s)");
    }
}
