//! The flags between an instruction's keyword and its arguments.

use crate::syntax::line::Slice;
use crate::syntax::tree::Word;

/// Splits the flags off `rest`. Quotes and backslashes in a flag are resolved; `--` alone ends the flags and
/// is dropped.
pub(crate) fn split(mut rest: Slice<'_>) -> (Vec<Word>, Slice<'_>) {
    let mut flags = Vec::new();
    loop {
        rest = rest.trim();
        if !rest.text().starts_with("--") {
            return (flags, rest);
        }
        let (text, end) = flag(rest.text());
        let word = Word { text, span: rest.part(0..end).span() };
        rest = rest.from(end);
        match word.text.as_str() {
            "--" => return (flags, rest.trim()),
            "" => {}
            _ => flags.push(word),
        }
    }
}

/// The flag at the start of `text`, and where it ends.
fn flag(text: &str) -> (String, usize) {
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.extend(letters.next().map(|(_, escaped)| escaped)),
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => quote = Some(letter),
            (_, None) if letter.is_whitespace() => return (word, at),
            _ => word.push(letter),
        }
    }
    (word, text.len())
}
