//! Places and words that readers give of a text.

use abx_core::{Fault, Snippet};

/// Asserts that every place of a fault is in `text`, and that what it says fits on a line.
pub(crate) fn told(fault: &impl Fault, text: &str) {
    one_line(&fault.to_string());
    fault.hints().iter().for_each(|hint| one_line(hint));
    fault.snippets().iter().for_each(|snippet| of(snippet, text));
}

/// Asserts that a text is fit for a terminal.
pub(crate) fn one_line(said: &str) {
    assert!(!said.is_empty(), "nothing is said");
    assert!(!said.chars().any(char::is_control), "control characters are said: {said:?}");
}

/// Asserts that a snippet is of `text`.
pub(crate) fn of(snippet: &Snippet, text: &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.split('\n').nth(snippet.line - 1).unwrap_or_else(|| panic!("no such line: {snippet:?}"));
    // Whether a carriage return is the line's or belongs to its end is nothing to see.
    let same = |line: &str| line.trim_end_matches('\r') == snippet.source.trim_end_matches('\r');
    let is_shown = line.starts_with(&snippet.source) || same(&abx_core::without_credentials(line));
    assert!(is_shown, "it is not what line {} says: {snippet:?}", snippet.line);
    let width = snippet.source.chars().count();
    assert!((1..=width + 1).contains(&snippet.column), "no such column: {snippet:?}");
    assert!(snippet.length >= 1, "it points at nothing: {snippet:?}");
    assert!(
        snippet.column - 1 + snippet.length <= width.max(snippet.column),
        "it points too far: {snippet:?}"
    );
}

/// Asserts that line and column are in `text`.
pub(crate) fn within(line: usize, column: usize, text: &str) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let width = text.split('\n').nth(line.wrapping_sub(1)).map(|line| line.chars().count());
    assert!(
        width.is_some_and(|width| (1..=width + 1).contains(&column)),
        "{line}:{column} is not in the file"
    );
}
