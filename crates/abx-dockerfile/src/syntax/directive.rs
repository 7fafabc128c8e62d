//! The directives at the top of a file: `# syntax=`, `# escape=`, `# check=`.

use crate::diagnostic::Findings;
use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::line::{Line, Lines};
use crate::syntax::tree::Word;

/// What the directives say.
#[derive(Default)]
pub(crate) struct Directives {
    pub(crate) escape: Option<char>,
    pub(crate) syntax: Option<Word>,
    check: Option<Word>,
}

/// Reads directives until there is a line that is none: another comment, a blank line, an instruction. That
/// line is left in `lines`.
pub(crate) fn read(lines: &mut Lines<'_>, findings: &mut Findings<'_>) -> Directives {
    let mut directives = Directives::default();
    loop {
        let mut ahead = lines.clone();
        let Some((name, value)) = ahead.next().and_then(split) else { return directives };
        match name.to_ascii_lowercase().as_str() {
            "syntax" => once(&mut directives.syntax, value, "syntax", findings),
            "check" => once(&mut directives.check, value, "check", findings),
            "escape" if directives.escape.is_some() => {
                findings.fault(Problem::DirectiveTwice { name: "escape" }, value.span);
            }
            "escape" => {
                let escape = match value.text.as_str() {
                    "\\" => '\\',
                    "`" => '`',
                    other => {
                        findings.fault(Problem::Escape { text: other.to_owned() }, value.span);
                        '\\'
                    }
                };
                directives.escape = Some(escape);
            }
            _ => return directives,
        }
        *lines = ahead;
    }
}

fn once(place: &mut Option<Word>, value: Word, name: &'static str, findings: &mut Findings<'_>) {
    if place.is_some() {
        findings.fault(Problem::DirectiveTwice { name }, value.span);
    } else {
        *place = Some(value);
    }
}

/// The name and the value of `# name = value`.
fn split(line: Line<'_>) -> Option<(&str, Word)> {
    let comment = line.text().trim_start().strip_prefix('#')?;
    let (name, value) = comment.split_once('=')?;
    let name = name.trim();
    let mut letters = name.chars();
    let is_name = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric());
    let value = value.trim();
    if !is_name || value.is_empty() {
        return None;
    }
    let start = line.start + line.text().trim_end().len() - value.len();
    Some((name, Word { text: value.to_owned(), span: Span { start, end: start + value.len() } }))
}
