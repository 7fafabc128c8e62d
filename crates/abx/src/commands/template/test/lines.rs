//! The tests as a person sees them: a line each while they run, and the reasons below those that failed.

use std::cell::Cell;
use std::sync::Mutex;

use agent_sandbox::template::{Mismatch, Outcome, TestReport, TestWatcher};

use super::count;
use crate::Failure;
use crate::output::{Printer, human};
use crate::report::log_line;

/// Lines of a text that are shown where it is not what it must be.
const SHOWN: usize = 12;

/// Prints tests as they are done.
pub(super) struct Lines {
    printer: Printer,
    /// What went wrong when a line was printed.
    broken: Mutex<Cell<Option<Failure>>>,
}

impl Lines {
    pub(super) fn new(printer: Printer) -> Self {
        Self { printer, broken: Mutex::default() }
    }

    /// The end: the whole as JSON, or how many passed.
    pub(super) fn sum_up(&self, report: &TestReport) -> Result<(), Failure> {
        let broken = self.broken.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(failure) = broken {
            return Err(failure);
        }
        let kept: Vec<&String> = report.files.iter().flat_map(|file| &file.kept).collect();
        if !kept.is_empty() {
            let ids = kept.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" ");
            self.printer.note(&format!("kept: {ids}"));
        }
        self.printer.result(report, &format!("\n{} of {}", count(report), report.template))
    }

    fn line(&self, text: &str) {
        if self.printer.json() {
            return;
        }
        if let Err(failure) = self.printer.raw(&format!("{text}\n")) {
            let broken = self.broken.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            broken.set(Some(failure));
        }
    }
}

impl TestWatcher for Lines {
    fn began(&self, file: &str, _count: usize) {
        self.line(&self.printer.stdout_paint().bold(file));
    }

    fn done(&self, outcome: &Outcome) {
        let paint = self.printer.stdout_paint();
        let took = paint.dim(&human::took(std::time::Duration::from_secs_f64(outcome.seconds)));
        let word = if outcome.passed { paint.good("ok    ") } else { paint.error("FAILED") };
        self.line(&format!("  {word} {} {took}", log_line(&outcome.name)));
        for failure in &outcome.failures {
            self.line(&mismatch(failure));
        }
        if !outcome.output.is_empty() {
            self.line(&indented(&outcome.output, "         | "));
        }
    }
}

/// `file:line:column: what`, and below it both sides.
fn mismatch(failure: &Mismatch) -> String {
    let Mismatch { what, expected, actual, file, line, column } = failure;
    let side = |title: &str, text: &str| {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        match &lines[..] {
            [] => format!("           {title}nothing"),
            [line] => format!("           {title}{}", log_line(line)),
            lines => format!("           {}\n{}", title.trim_end(), indented(lines, "             ")),
        }
    };
    format!(
        "         {file}:{line}:{column}: {}\n{}\n{}",
        log_line(what),
        side("expected: ", expected),
        side("actual:   ", actual)
    )
}

/// The first lines, without what would steer a terminal.
fn indented(lines: &[String], margin: &str) -> String {
    let mut text: Vec<String> =
        lines.iter().take(SHOWN).map(|line| format!("{margin}{}", log_line(line))).collect();
    if lines.len() > SHOWN {
        text.push(format!("{margin}… and {} lines more", lines.len() - SHOWN));
    }
    text.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_failure_are_shown_at_its_place() {
        let failure = |expected: &str, actual: &str| Mismatch {
            what: "stdout".into(),
            expected: expected.into(),
            actual: actual.into(),
            file: "./m/tests/a.yaml".into(),
            line: 3,
            column: 13,
        };
        assert_eq!(
            mismatch(&failure("one", "")),
            "         ./m/tests/a.yaml:3:13: stdout\n           expected: one\n           actual:   nothing"
        );
        assert_eq!(
            mismatch(&failure("one", "1\n2\u{1b}[31m")),
            "         ./m/tests/a.yaml:3:13: stdout\n           expected: one\n           actual:\n             1\n             2"
        );
        let many: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        assert!(indented(&many, "").ends_with("\n11\n… and 8 lines more"));
    }
}
