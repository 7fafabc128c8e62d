//! What all readers of instructions share.

use crate::diagnostic::Findings;
use crate::expand::Lexer;
use crate::problem::Problem;
use crate::read::value::{self, Refused};
use crate::source::Span;
use crate::syntax::{Keyword, Node, Word};

/// Collects faults while instructions are read.
pub(crate) struct Reader<'f, 's> {
    pub(crate) findings: &'f mut Findings<'s>,
    pub(crate) escape: char,
}

impl Reader<'_, '_> {
    pub(crate) fn fault(&mut self, problem: Problem, span: Span) {
        self.findings.fault(problem, span);
    }

    /// Reports what `result` was refused for.
    pub(crate) fn report<T>(&mut self, result: Result<T, Refused>, span: Span) -> Option<T> {
        result.map_err(|problem| self.fault(*problem, span)).ok()
    }

    /// Checks a word that will be expanded: its syntax always, its value with `check` where no variable
    /// stands in it.
    pub(crate) fn word(&mut self, word: &Word, check: impl FnOnce(&str) -> Result<(), Refused>) {
        let lexer = Lexer { escape: self.escape, keep_quotes: false };
        match lexer.word(&word.text, &|_| Some("x")) {
            Ok(expanded) if expanded.has_variables => {}
            Ok(expanded) => {
                self.report(check(&expanded.text), word.span);
            }
            Err(error) => self.fault(error.into(), word.span),
        }
    }

    /// Checks the syntax alone.
    pub(crate) fn syntax(&mut self, word: &Word) {
        self.word(word, |_| Ok(()));
    }

    /// As [`Reader::word`], and an empty value is a fault.
    pub(crate) fn filled(&mut self, word: &Word, keyword: Keyword, what: &'static str) {
        self.word(word, |text| value::filled(text, keyword, what));
    }

    /// The faults of an instruction with nothing where there must be something.
    pub(crate) fn needs(&mut self, node: &Node, wanted: &'static str) {
        self.fault(Problem::Needs { keyword: node.keyword, wanted }, node.span);
    }
}
