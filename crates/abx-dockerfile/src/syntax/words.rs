//! Arguments taken apart at white space.

use crate::syntax::line::Slice;

/// What separates words that have no quotes.
const BLANK: [char; 5] = [' ', '\t', '\u{b}', '\u{c}', '\r'];

/// Words between white space; quotes mean nothing.
pub(crate) fn plain(slice: Slice<'_>) -> Vec<Slice<'_>> {
    let text = slice.text();
    let words = text.split(BLANK).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let start = word.as_ptr() as usize - text.as_ptr() as usize;
            slice.part(start..start + word.len())
        })
        .collect()
}

/// The first word, and all that follows it.
pub(crate) fn first(slice: Slice<'_>) -> (Slice<'_>, Slice<'_>) {
    let text = slice.text();
    let end = text.find(BLANK).unwrap_or(text.len());
    let rest = text[end..].trim_start_matches(BLANK);
    (slice.part(0..end), slice.from(text.len() - rest.len()))
}

/// Words between white space that is neither quoted nor escaped; in single quotes nothing is escaped. Quotes
/// and escapes stay in the words. A quote that is not closed reaches to the end, and an escape character at
/// the end is dropped.
pub(crate) fn quoted(slice: Slice<'_>, escape: char) -> Vec<Slice<'_>> {
    let text = slice.text();
    let mut words = Vec::new();
    let mut start = None;
    let mut end = text.len();
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        if quote.is_none() && letter.is_whitespace() {
            words.extend(start.take().map(|start| slice.part(start..at)));
            continue;
        }
        start.get_or_insert(at);
        if letter == escape && quote != Some('\'') {
            if letters.next().is_none() && quote.is_none() {
                end = at;
            }
        } else if quote == Some(letter) {
            quote = None;
        } else if quote.is_none() && matches!(letter, '\'' | '"') {
            quote = Some(letter);
        }
    }
    words.extend(start.filter(|start| *start < end).map(|start| slice.part(start..end)));
    words
}
