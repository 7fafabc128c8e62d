//! All that is wrong with one file.

use crate::{Code, Fault, Snippet};

/// A file that means nothing: every fault found in it, in the order of its lines. To an error's reader it is the first
/// of them, with the rest behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid<D> {
    first: Box<D>,
    rest: Vec<D>,
}

impl<D: Fault> Invalid<D> {
    /// `None` where there is no fault.
    pub fn new(mut faults: Vec<D>) -> Option<Self> {
        faults.sort_by_key(|fault| fault.snippets().first().map(|at| (at.line, at.column)));
        let mut faults = faults.into_iter();
        let first = Box::new(faults.next()?);
        Some(Self { first, rest: faults.collect() })
    }

    /// Every fault, in the order of the file's lines; there is at least one.
    pub fn diagnostics(&self) -> impl Iterator<Item = &D> {
        std::iter::once(&*self.first).chain(&self.rest)
    }
}

impl<D: Fault> From<D> for Invalid<D> {
    fn from(fault: D) -> Self {
        Self { first: Box::new(fault), rest: Vec::new() }
    }
}

impl<D: Fault> std::fmt::Display for Invalid<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.first.fmt(f)
    }
}

impl<D: Fault> std::error::Error for Invalid<D> {}

impl<D: Fault> Fault for Invalid<D> {
    fn code(&self) -> Code {
        self.first.code()
    }

    fn hints(&self) -> Vec<String> {
        self.first.hints()
    }

    fn snippets(&self) -> Vec<Snippet> {
        self.first.snippets()
    }

    fn others(&self) -> Vec<&dyn Fault> {
        self.rest.iter().map(|fault| fault as &dyn Fault).collect()
    }
}
