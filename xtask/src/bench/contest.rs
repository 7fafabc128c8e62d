//! One question put to several programs in turn.

use crate::bench::samples::Samples;
use crate::failure::Failure;
use crate::tool;

/// What a number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Less is better.
    Seconds,
    /// More is better.
    PerSecond,
    /// Less is better.
    Bytes,
    /// More is better.
    Count,
}

/// A question, and who is asked.
pub(crate) struct Contest<'a> {
    pub(crate) title: &'static str,
    /// What exactly is measured, in a sentence.
    pub(crate) what: &'static str,
    pub(crate) unit: Unit,
    pub(crate) contenders: Vec<Contender<'a>>,
    /// Who is not asked, and why.
    pub(crate) skipped: Vec<(String, String)>,
}

/// Who is asked. A measurement does its own preparation and cleaning up, off the clock.
pub(crate) struct Contender<'a> {
    name: String,
    measure: Box<dyn FnMut() -> Result<f64, Failure> + 'a>,
}

/// What came of it. The first line is ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) title: String,
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) lines: Vec<(String, Samples)>,
    pub(crate) skipped: Vec<(String, String)>,
}

impl<'a> Contest<'a> {
    /// A question without anybody to ask yet.
    pub(crate) fn new(title: &'static str, what: &'static str, unit: Unit) -> Self {
        Self { title, what, unit, contenders: Vec::new(), skipped: Vec::new() }
    }

    /// Asks this one too.
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        measure: impl FnMut() -> Result<f64, Failure> + 'a,
    ) {
        self.contenders.push(Contender { name: name.into(), measure: Box::new(measure) });
    }

    /// Says why `name` is not asked.
    pub(crate) fn skip(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push((name.into(), reason.into()));
    }

    /// Asks everybody once without counting, then `rounds` times, in each round starting with another one, so
    /// that what the machine does meanwhile falls on all alike. Who fails is asked no more.
    pub(crate) fn run(self, rounds: usize) -> Outcome {
        self.ask(1, rounds)
    }

    /// The same without the first round that does not count: for what is slow, and cold each time.
    pub(crate) fn run_cold(self, rounds: usize) -> Outcome {
        self.ask(0, rounds)
    }

    fn ask(mut self, warm_up: usize, rounds: usize) -> Outcome {
        tool::say(&format!("{}: {} rounds of {}", self.title, rounds, self.names()));
        let mut values = vec![Vec::with_capacity(rounds); self.contenders.len()];
        let mut failures: Vec<Option<String>> = vec![None; self.contenders.len()];
        for round in 0..warm_up + rounds {
            for turn in 0..self.contenders.len() {
                let index = (round + turn) % self.contenders.len();
                if failures[index].is_some() {
                    continue;
                }
                match (self.contenders[index].measure)() {
                    Ok(value) if round >= warm_up => values[index].push(value),
                    Ok(_) => {}
                    Err(failure) => failures[index] = Some(failure.to_string()),
                }
            }
        }
        self.outcome(values, failures)
    }

    fn names(&self) -> String {
        self.contenders.iter().map(|contender| contender.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn outcome(self, values: Vec<Vec<f64>>, failures: Vec<Option<String>>) -> Outcome {
        let mut outcome = Outcome {
            title: self.title.to_owned(),
            what: self.what.to_owned(),
            unit: self.unit,
            lines: Vec::new(),
            skipped: self.skipped,
        };
        for ((contender, values), failure) in self.contenders.into_iter().zip(values).zip(failures) {
            match (failure, Samples::new(values)) {
                (Some(failure), _) => outcome.skipped.push((contender.name, format!("failed: {failure}"))),
                (None, Some(samples)) => outcome.lines.push((contender.name, samples)),
                (None, None) => {}
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn everybody_has_a_turn_in_each_round_and_a_failure_ends_one_alone() {
        let order = RefCell::new(String::new());
        let mut contest = Contest::new("t", "w", Unit::Seconds);
        contest.add("a", || {
            order.borrow_mut().push('a');
            Ok(1.0)
        });
        contest.add("b", || {
            order.borrow_mut().push('b');
            Err(Failure::Usage("no".to_owned()))
        });
        contest.skip("c", "absent");
        let outcome = contest.run(2);
        assert_eq!(order.into_inner(), "abaa");
        assert_eq!(outcome.lines.len(), 1);
        assert_eq!(outcome.lines[0].1.count(), 2);
        let expected = [("c".to_owned(), "absent".to_owned()), ("b".to_owned(), "failed: no".to_owned())];
        assert_eq!(outcome.skipped, expected);
    }
}
