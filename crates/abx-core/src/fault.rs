//! What an error answers, so that the command line, a server and a language binding render it alike.

use crate::Code;

/// An error a user may see: its `Display` says what failed, the rest says where, under which code, and
/// what to do next. Messages are lower case without a full stop.
pub trait Fault: std::error::Error + Send + Sync + 'static {
    /// The stable code.
    fn code(&self) -> Code;

    /// Advice, one sentence each, printed as `help:` lines.
    fn hints(&self) -> Vec<String> {
        Vec::new()
    }

    /// Places in a file the error is about, most important first.
    fn snippets(&self) -> Vec<Snippet> {
        Vec::new()
    }

    /// Text shown below the message as it is: the last lines of a log, say. Empty for none.
    fn details(&self) -> Vec<String> {
        Vec::new()
    }

    /// Further faults found in the same run (all faults of one file, say), each rendered on its own.
    fn others(&self) -> Vec<&dyn Fault> {
        Vec::new()
    }
}

/// A message with words of a file in it, which may be long and hold anything: control characters are escaped, and it
/// ends somewhere.
pub fn one_line(text: &str) -> String {
    const LIMIT: usize = 400;
    let mut line = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == LIMIT {
            line.push('…');
            break;
        }
        if letter.is_control() { line.extend(letter.escape_default()) } else { line.push(letter) }
    }
    line
}

/// A place in a source file, with the line itself, so that rendering needs no further reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The file as the user knows it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Number of characters the caret spans, at least 1.
    pub length: usize,
    /// The text of that line, without its line break.
    pub source: String,
    /// What to say beside the caret; may be empty.
    pub label: String,
}

impl Snippet {
    /// The place of a span of bytes, which a parser gave, in `text`. It ends with its line.
    pub fn of_span(file: &str, text: &str, span: std::ops::Range<usize>) -> Self {
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let source = text[line_start..].lines().next().unwrap_or_default();
        // The end of a line may be two letters that are not shown.
        let column = text[line_start..start].chars().count().min(source.chars().count());
        let rest = source.chars().count() - column;
        let marked = text.get(start..span.end.min(text.len())).map_or(1, |marked| marked.chars().count());
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: column + 1,
            length: marked.min(rest).max(1),
            source: source.to_owned(),
            label: String::new(),
        }
    }
}
