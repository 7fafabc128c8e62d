//! The text of a file, and where in it something stands.

use abx_core::Snippet;

/// Characters of a line that are shown; no line that a person wrote is longer.
const SHOWN: usize = 1_000;

/// A stretch of a [`Source`], in bytes. It may reach over several lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A text that knows its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    file: String,
    text: String,
    /// Where each line begins.
    starts: Vec<usize>,
}

impl Source {
    /// `file` is the name the user knows; a byte order mark at the start of `text` is no part of it.
    pub fn new(text: &str, file: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Self { file: file.to_owned(), text: text.to_owned(), starts }
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line, from 1, at an offset in bytes.
    pub fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).max(1)
    }

    /// The line, counted from 0, of a text over several lines that stands at `span`.
    pub(crate) fn line_within(&self, span: Span, line: usize) -> Span {
        let start = self.starts.get(self.line_at(span.start) - 1 + line).copied().unwrap_or(span.end);
        let start = start.clamp(span.start, span.end);
        let text = &self.text[start..span.end];
        let text = text.split('\n').next().unwrap_or_default();
        let indent = text.len() - text.trim_start().len();
        Span { start: start + indent, end: start + indent + text.trim().len() }
    }

    /// The place of `span` with its line, as errors show it. Of a span over several lines the first is
    /// shown; of an endless line its beginning.
    pub fn snippet(&self, span: Span) -> Snippet {
        let line = self.line_at(span.start);
        let start = self.starts[line - 1];
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        let text = self.text[start..end].trim_end_matches(['\n', '\r']);
        let before = count(text, span.start.saturating_sub(start));
        let length = count(text, span.end.saturating_sub(start)).saturating_sub(before);
        let width = text.chars().take(SHOWN).count();
        let column = before.min(width) + 1;
        Snippet {
            file: self.file.clone(),
            line,
            column,
            length: length.clamp(1, (width + 1 - column).max(1)),
            source: text.chars().take(SHOWN).collect(),
            label: String::new(),
        }
    }
}

/// The characters of `text` before an offset in bytes, as far as they matter.
fn count(text: &str, offset: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < offset).take(SHOWN).count()
}

#[cfg(test)]
mod tests {
    use super::{Source, Span};

    #[test]
    fn places_are_counted_in_characters() {
        let source = Source::new("\u{feff}FROM é b\r\nRUN x", "Dockerfile");
        let rows = [
            ((0, 4), (1, 1, 4, "FROM é b")),
            ((8, 9), (1, 8, 1, "FROM é b")),
            ((8, 30), (1, 8, 1, "FROM é b")),
            ((11, 14), (2, 1, 3, "RUN x")),
            ((16, 16), (2, 6, 1, "RUN x")),
        ];
        for ((start, end), (line, column, length, text)) in rows {
            let snippet = source.snippet(Span { start, end });
            assert_eq!(
                (snippet.line, snippet.column, snippet.length, &*snippet.source),
                (line, column, length, text)
            );
        }
    }
}
