//! The JSON form of arguments, `["a", "b"]`.

use serde::de::IgnoredAny;

use crate::problem::Problem;
use crate::source::Span;
use crate::syntax::line::Slice;
use crate::syntax::tree::Word;

/// The strings of the array that `slice` is, `None` where it is no JSON.
///
/// # Errors
/// JSON, but not strings alone; or text after the array. Both would be understood wrongly as a shell's.
pub(crate) fn array(slice: Slice<'_>) -> Result<Option<Vec<Word>>, (Problem, Span)> {
    let mut reader = Reader { slice, at: 0 };
    if !reader.eat('[') {
        return Ok(None);
    }
    let mut words = Vec::new();
    if !reader.eat(']') {
        loop {
            reader.blank();
            let start = reader.at;
            match reader.string() {
                Some(text) => words.push(Word { text, span: slice.part(start..reader.at).span() }),
                None if is_array(slice.text()) => {
                    return Err((Problem::NotStrings, slice.from(start).span()));
                }
                None => return Ok(None),
            }
            if reader.eat(']') {
                break;
            }
            if !reader.eat(',') {
                return Ok(None);
            }
        }
    }
    reader.blank();
    let rest = slice.from(reader.at);
    if rest.is_empty() { Ok(Some(words)) } else { Err((Problem::AfterArray, rest.span())) }
}

/// Whether the text is a JSON array of anything.
fn is_array(text: &str) -> bool {
    serde_json::from_str::<Vec<IgnoredAny>>(text).is_ok()
}

struct Reader<'l> {
    slice: Slice<'l>,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.slice.text()[self.at..]
    }

    fn blank(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// White space, then `letter`.
    fn eat(&mut self, letter: char) -> bool {
        self.blank();
        let found = self.rest().starts_with(letter);
        if found {
            self.at += letter.len_utf8();
        }
        found
    }

    fn string(&mut self) -> Option<String> {
        if !self.eat('"') {
            return None;
        }
        let mut text = String::new();
        loop {
            let letter = self.rest().chars().next()?;
            self.at += letter.len_utf8();
            match letter {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                control if control < ' ' => return None,
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let letter = self.rest().chars().next()?;
        self.at += letter.len_utf8();
        Some(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode()?,
            _ => return None,
        })
    }

    /// Four digits after `\u`, or two such escapes that are a surrogate pair. Half a pair is U+FFFD.
    fn unicode(&mut self) -> Option<char> {
        let first = self.digits()?;
        if let Some(letter) = char::from_u32(first) {
            return Some(letter);
        }
        let back = self.at;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 2;
            let second = self.digits()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            self.at = back;
        }
        Some(char::REPLACEMENT_CHARACTER)
    }

    fn digits(&mut self) -> Option<u32> {
        let digits =
            self.rest().get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        let value = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(value)
    }
}
