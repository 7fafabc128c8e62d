//! Physical lines, and the logical line that continued ones make together.

use std::ops::Range;

use crate::diagnostic::Findings;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::tree::Word;

/// A line of the file.
#[derive(Clone, Copy)]
pub(crate) struct Line<'s> {
    /// With its line break.
    pub(crate) raw: &'s str,
    /// Where it begins in the file.
    pub(crate) start: usize,
}

impl<'s> Line<'s> {
    /// Without its line break.
    pub(crate) fn text(self) -> &'s str {
        self.raw.trim_end_matches(['\n', '\r'])
    }

    pub(crate) fn span(self) -> Span {
        Span { start: self.start, end: self.start + self.text().len() }
    }
}

/// The lines that are still to be read.
#[derive(Clone)]
pub(crate) struct Lines<'s> {
    rest: &'s str,
    start: usize,
}

impl<'s> Lines<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        Self { rest: text, start: 0 }
    }
}

impl<'s> Iterator for Lines<'s> {
    type Item = Line<'s>;

    fn next(&mut self) -> Option<Line<'s>> {
        let raw = self.rest.split_inclusive('\n').next()?;
        let line = Line { raw, start: self.start };
        self.rest = &self.rest[raw.len()..];
        self.start += raw.len();
        Some(line)
    }
}

/// An instruction as one line of text that knows where each part of it stands in the file.
#[derive(Default)]
pub(crate) struct Logical {
    text: String,
    /// Offset in `text`, offset in the file.
    pieces: Vec<(usize, usize)>,
}

impl Logical {
    /// The logical line that begins with `first`; `None` for comments and blank lines. Comments between
    /// continued lines are dropped, blank ones too, with a warning.
    pub(crate) fn gather(
        first: Line<'_>,
        lines: &mut Lines<'_>,
        escape: char,
        findings: &mut Findings<'_>,
    ) -> Option<Self> {
        let text = first.text().trim_start();
        if text.starts_with('#') {
            return None;
        }
        let indent = first.text().len() - text.len();
        let mut logical = Self::default();
        let mut continues = logical.push(text, first.start + indent, escape);
        let mut is_warned = false;
        while continues && let Some(line) = lines.next() {
            match line.text().trim_start() {
                comment if comment.starts_with('#') => {}
                "" => {
                    if !is_warned {
                        findings.warn(Problem::EmptyContinuation, line.span());
                    }
                    is_warned = true;
                }
                _ => continues = logical.push(line.text(), line.start, escape),
            }
        }
        (!logical.text.trim().is_empty()).then_some(logical)
    }

    /// Adds a line; whether it ends in the escape character, and so goes on. A doubled one does not count.
    fn push(&mut self, line: &str, start: usize, escape: char) -> bool {
        let trimmed = line.trim_end_matches([' ', '\t']);
        let continued = trimmed.strip_suffix(escape).filter(|rest| !rest.ends_with(escape));
        self.pieces.push((self.text.len(), start));
        self.text.push_str(continued.unwrap_or(line));
        continued.is_some()
    }

    /// Where a part of the text stands.
    fn span(&self, range: Range<usize>) -> Span {
        let start = self.locate(range.start);
        let end = if range.is_empty() { start } else { self.locate(range.end - 1) + 1 };
        Span { start, end }
    }

    fn locate(&self, offset: usize) -> usize {
        let index = self.pieces.partition_point(|(at, _)| *at <= offset).saturating_sub(1);
        self.pieces.get(index).map_or(0, |(at, start)| start + (offset - at))
    }

    pub(crate) fn whole(&self) -> Slice<'_> {
        Slice { line: self, start: 0, end: self.text.len() }
    }
}

/// A part of a [`Logical`] line.
#[derive(Clone, Copy)]
pub(crate) struct Slice<'l> {
    line: &'l Logical,
    start: usize,
    end: usize,
}

impl<'l> Slice<'l> {
    pub(crate) fn text(self) -> &'l str {
        &self.line.text[self.start..self.end]
    }

    /// The part within `range`, in bytes of [`Slice::text`].
    pub(crate) fn part(self, range: Range<usize>) -> Self {
        Self { start: self.start + range.start, end: self.start + range.end, ..self }
    }

    /// The part from `at` on.
    pub(crate) fn from(self, at: usize) -> Self {
        self.part(at..self.text().len())
    }

    pub(crate) fn trim(self) -> Self {
        let text = self.text();
        let start = text.len() - text.trim_start().len();
        self.part(start..start + text.trim().len())
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub(crate) fn span(self) -> Span {
        self.line.span(self.start..self.end)
    }

    pub(crate) fn word(self) -> Word {
        Word { text: self.text().to_owned(), span: self.span() }
    }
}
