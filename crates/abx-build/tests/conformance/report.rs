//! All cases together.

use std::fmt::Write;

use crate::case::Case;
use crate::verdict::Verdict;

/// How every case went.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
}

struct Row {
    name: String,
    verdict: Verdict,
    is_refused: bool,
}

impl Report {
    /// Adds a case; `is_refused` says whether BuildKit refuses it.
    pub(crate) fn add(&mut self, case: &Case, verdict: Verdict, is_refused: bool) {
        self.rows.push(Row { name: case.name.clone(), verdict, is_refused });
    }

    /// No difference is without a reason.
    pub(crate) fn is_good(&self) -> bool {
        self.rows.iter().all(|row| row.verdict.is_good())
    }

    /// One line on all.
    pub(crate) fn summary(&self) -> String {
        let count = |wanted: &dyn Fn(&Row) -> bool| self.rows.iter().filter(|row| wanted(row)).count();
        format!(
            "{} Dockerfiles: {} built alike, {} refused by both, {} different for a known reason, {} different without one",
            self.rows.len(),
            count(&|row| row.is_same() && !row.is_refused),
            count(&|row| row.is_same() && row.is_refused),
            count(&|row| row.verdict.is_good() && !row.is_same()),
            count(&|row| !row.verdict.is_good()),
        )
    }

    /// A table for people.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("{}.\n\n| case | result |\n|---|---|\n", self.summary());
        for row in &self.rows {
            let result = match (row.verdict.is_good(), row.is_same(), row.is_refused) {
                (false, ..) => "**different**".to_owned(),
                (true, true, false) => "the same".to_owned(),
                (true, true, true) => "both refuse".to_owned(),
                (true, false, _) => row.verdict.reasons.join("; "),
            };
            let _ = writeln!(text, "| {} | {result} |", row.name);
        }
        text
    }
}

impl Row {
    fn is_same(&self) -> bool {
        self.verdict.is_good() && self.verdict.reasons.is_empty()
    }
}
