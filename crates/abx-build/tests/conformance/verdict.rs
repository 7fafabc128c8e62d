//! Ours beside theirs.

use std::fmt;

use crate::case::Case;
use crate::outcome::Outcome;

/// How a case went.
pub(crate) struct Verdict {
    /// The reasons of the differences that are known.
    pub(crate) reasons: Vec<String>,
    /// What is wrong: differences nobody has explained, explanations of what does not occur, records out of date.
    pub(crate) faults: Vec<String>,
}

impl Verdict {
    /// `is_current` says whether what is recorded is what BuildKit does.
    pub(crate) fn of(case: &Case, ours: &Outcome, theirs: &Outcome, is_current: bool) -> Self {
        let mut only_theirs = theirs.against(ours);
        let mut only_ours = Vec::new();
        for line in ours.against(theirs) {
            match only_theirs.iter().position(|other| *other == line) {
                Some(index) => drop(only_theirs.remove(index)),
                None => only_ours.push(line),
            }
        }
        let mut faults = Vec::new();
        for difference in &case.differences {
            explain(&difference.theirs, &mut only_theirs, '-', &mut faults);
            explain(&difference.ours, &mut only_ours, '+', &mut faults);
        }
        faults.extend(only_theirs.iter().map(|line| format!("- {line}")));
        faults.extend(only_ours.iter().map(|line| format!("+ {line}")));
        if let (Outcome::Refused(reason), false) = (theirs, faults.is_empty()) {
            faults.push(format!("BuildKit says: {reason}"));
        }
        if !is_current {
            faults.push("`expected` is not what BuildKit makes of it: run with --record".to_owned());
        }
        match (ours, case.refusal()) {
            (Outcome::Refused(reason), Some(known)) if *reason != known => {
                faults.push(format!("says: {reason}"));
                faults.push(format!("not: {known}"));
            }
            (Outcome::Refused(reason), None) => faults.push(format!("says: {reason}")),
            _ => {}
        }
        let reasons = case.differences.iter().map(|difference| difference.reason.clone()).collect();
        Self { reasons, faults }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Takes known lines away from those that differ.
fn explain(known: &[String], found: &mut Vec<String>, sign: char, faults: &mut Vec<String>) {
    for line in known {
        match found.iter().position(|other| other == line) {
            Some(index) => drop(found.remove(index)),
            None => faults.push(format!("explained, but does not occur: {sign} {line}")),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.faults[..], &self.reasons[..]) {
            ([], []) => f.write_str("ok"),
            ([], reasons) => write!(f, "ok ({} explained)", reasons.len()),
            (faults, _) => {
                f.write_str("FAILED")?;
                faults.iter().try_for_each(|fault| write!(f, "\n    {fault}"))
            }
        }
    }
}
