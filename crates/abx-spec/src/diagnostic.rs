//! A problem at its place, and all of a file's together.

use abx_core::fault::one_line;
use abx_core::{Code, Fault, Snippet};

use crate::problem::Problem;
use crate::spec::Place;

/// One thing wrong with a file (E2004), or merely questionable where it is among the warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Where, with the line itself.
    pub snippet: Snippet,
}

impl Diagnostic {
    /// Points at `length` characters from `place`; `text` is the whole file.
    pub fn new(problem: Problem, text: &str, place: &Place, length: usize) -> Self {
        let source = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
        Self { problem, snippet: snippet(place, source, length) }
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&one_line(&self.problem.to_string()))
    }
}

impl std::error::Error for Diagnostic {}

pub(crate) fn snippet(place: &Place, source: &str, length: usize) -> Snippet {
    let room = source.chars().count().saturating_sub(place.column - 1);
    Snippet {
        file: place.file.clone(),
        line: place.line,
        column: place.column,
        length: length.clamp(1, room.max(1)),
        source: abx_core::without_credentials(source).into_owned(),
        label: String::new(),
    }
}

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

/// A file that means nothing: every fault found in it.
pub type Invalid = abx_core::Invalid<Diagnostic>;
