//! A problem at its place, and all of a file's together.

use abx_core::fault::one_line;
use abx_core::{Code, Fault, Snippet};

use crate::limits::REPORTED;
use crate::problem::Problem;
use crate::source::{Source, Span};

/// One thing wrong with a file (E2004), or merely questionable where it is among the warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Where, with the line itself.
    pub snippet: Snippet,
}

impl Diagnostic {
    /// Points at `span` of `source`.
    pub fn new(problem: Problem, source: &Source, span: Span) -> Self {
        Self { problem, snippet: source.snippet(span) }
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&one_line(&self.problem.to_string()))
    }
}

impl std::error::Error for Diagnostic {}

impl Fault for Diagnostic {
    fn code(&self) -> Code {
        Code::SpecInvalid
    }

    fn hints(&self) -> Vec<String> {
        self.problem.hints().iter().map(|hint| one_line(hint)).collect()
    }

    fn snippets(&self) -> Vec<Snippet> {
        vec![self.snippet.clone()]
    }
}

/// A file that cannot be built: every fault found in it.
pub type Invalid = abx_core::Invalid<Diagnostic>;

/// What is found while a file is read.
pub(crate) struct Findings<'s> {
    source: &'s Source,
    faults: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
}

impl<'s> Findings<'s> {
    pub(crate) fn new(source: &'s Source) -> Self {
        Self { source, faults: Vec::new(), warnings: Vec::new() }
    }

    pub(crate) fn fault(&mut self, problem: Problem, span: Span) {
        if !self.is_full() {
            self.faults.push(Diagnostic::new(problem, self.source, span));
        }
    }

    pub(crate) fn warn(&mut self, problem: Problem, span: Span) {
        if self.warnings.len() < REPORTED {
            self.warnings.push(Diagnostic::new(problem, self.source, span));
        }
    }

    pub(crate) fn source(&self) -> &'s Source {
        self.source
    }

    /// No fault so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    /// Further faults would not be reported.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() >= REPORTED
    }

    /// The warnings in the order of the file's lines, or every fault.
    pub(crate) fn finish(mut self) -> Result<Vec<Diagnostic>, Invalid> {
        self.warnings.sort_by_key(|warning| (warning.snippet.line, warning.snippet.column));
        match Invalid::new(self.faults) {
            Some(invalid) => Err(invalid),
            None => Ok(self.warnings),
        }
    }
}
