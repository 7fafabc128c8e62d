//! The reader of words.

use crate::expand::pattern::Pattern;
use crate::expand::{ExpandError, Lexer};
use crate::limits::{NESTING, PATTERN_STEPS, WORD_BYTES};

/// What has been read.
#[derive(Default)]
pub(super) struct Output {
    pub(super) text: String,
    /// Where words are wanted: those that are complete; `text` is then the one under way.
    pub(super) words: Vec<String>,
    pub(super) splits: bool,
}

impl Output {
    /// A letter that was quoted or escaped.
    fn keep(&mut self, letter: char) {
        self.text.push(letter);
    }

    fn push(&mut self, letter: char) {
        if self.splits && letter.is_whitespace() { self.end_word() } else { self.text.push(letter) }
    }

    /// The value of a variable outside of quotes.
    fn push_value(&mut self, value: &str) {
        match self.splits {
            true => value.chars().for_each(|letter| self.push(letter)),
            false => self.text.push_str(value),
        }
    }

    pub(super) fn end_word(&mut self) {
        if !self.text.is_empty() {
            self.words.push(std::mem::take(&mut self.text));
        }
    }
}

pub(super) struct Reader<'w, 'l, 'a> {
    lexer: Lexer,
    rest: &'w str,
    /// How much was left where the outermost quote or variable under way began.
    pub(super) outermost: usize,
    lookup: &'l dyn Fn(&str) -> Option<&'a str>,
    pub(super) out: Output,
    /// Bytes made so far, within braces too.
    pub(super) made: usize,
    depth: usize,
    pub(super) has_variables: bool,
}

impl<'w, 'l, 'a> Reader<'w, 'l, 'a> {
    pub(super) fn new(lexer: Lexer, rest: &'w str, lookup: &'l dyn Fn(&str) -> Option<&'a str>) -> Self {
        let outermost = rest.len();
        let out = Output::default();
        Self { lexer, rest, outermost, lookup, out, made: 0, depth: 0, has_variables: false }
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn eat(&mut self, letter: char) -> bool {
        let found = self.peek() == Some(letter);
        if found {
            self.next();
        }
        found
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ExpandError> {
        self.made += bytes;
        if self.made > WORD_BYTES { Err(ExpandError::TooLong) } else { Ok(()) }
    }

    /// Matching takes steps; many of them count as bytes.
    fn match_steps(&mut self, pattern: &Pattern, value: &str) -> Result<(), ExpandError> {
        let steps = pattern.len().saturating_mul(value.len());
        if steps > PATTERN_STEPS { Err(ExpandError::TooLong) } else { self.grow(steps / 64) }
    }

    /// Reads up to `stop` and over it, or to the end; whether `stop` was found. With `raw` escapes stay in
    /// the text, for a pattern.
    pub(super) fn read(&mut self, stop: Option<char>, raw: bool) -> Result<bool, ExpandError> {
        while let Some(letter) = self.next() {
            if self.depth == 0 {
                self.outermost = self.rest.len() + letter.len_utf8();
            }
            self.grow(letter.len_utf8())?;
            if Some(letter) == stop {
                return Ok(true);
            }
            match letter {
                '\'' if !self.lexer.keep_quotes => self.single_quoted()?,
                '"' if !self.lexer.keep_quotes => self.double_quoted()?,
                '$' => {
                    let value = self.dollar()?;
                    self.grow(value.len())?;
                    self.out.push_value(&value);
                }
                letter if letter == self.lexer.escape => {
                    if raw {
                        self.out.keep(letter);
                    }
                    if let Some(escaped) = self.next() {
                        self.out.keep(escaped);
                    }
                }
                letter => self.out.push(letter),
            }
        }
        Ok(false)
    }

    fn single_quoted(&mut self) -> Result<(), ExpandError> {
        loop {
            match self.next() {
                None => return Err(ExpandError::Quote { quote: '\'' }),
                Some('\'') => return Ok(()),
                Some(letter) => self.out.keep(letter),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), ExpandError> {
        loop {
            match self.next() {
                None => return Err(ExpandError::Quote { quote: '"' }),
                Some('"') => return Ok(()),
                Some('$') => {
                    let value = self.dollar()?;
                    self.grow(value.len())?;
                    self.out.text.push_str(&value);
                }
                Some(letter) if letter == self.lexer.escape => match self.next() {
                    None => return Err(ExpandError::Quote { quote: '"' }),
                    Some(next) => {
                        if next != '"' && next != '$' && next != self.lexer.escape {
                            self.out.keep(letter);
                        }
                        self.out.keep(next);
                    }
                },
                Some(letter) => self.out.keep(letter),
            }
        }
    }

    /// The value of what follows a `$`, or the `$` itself where nothing does.
    fn dollar(&mut self) -> Result<String, ExpandError> {
        if self.eat('{') {
            self.has_variables = true;
            return self.braced();
        }
        match self.name() {
            "" => Ok("$".into()),
            name => {
                self.has_variables = true;
                Ok((self.lookup)(name).unwrap_or_default().to_owned())
            }
        }
    }

    /// The name that follows: letters, digits and `_`, digits alone, or one of a shell's special parameters.
    fn name(&mut self) -> &'w str {
        let rest = self.rest;
        let end_of = |holds: fn(char) -> bool| rest.find(|letter| !holds(letter)).unwrap_or(rest.len());
        let end = match rest.chars().next() {
            Some(first) if first.is_ascii_digit() => end_of(|letter| letter.is_ascii_digit()),
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => 1,
            _ => end_of(|letter| letter.is_alphanumeric() || letter == '_'),
        };
        self.rest = &rest[end..];
        &rest[..end]
    }

    fn braced(&mut self) -> Result<String, ExpandError> {
        let name = self.name();
        if name.is_empty() {
            return Err(if self.rest.is_empty() { ExpandError::Brace } else { ExpandError::NoName });
        }
        let value = (self.lookup)(name);
        let unknown = |operator: String| ExpandError::Operator { name: name.to_owned(), operator };
        let Some(operator) = self.next() else { return Err(ExpandError::Brace) };
        match operator {
            '}' => Ok(value.unwrap_or_default().to_owned()),
            ':' => match self.next() {
                Some(second @ ('-' | '+' | '?')) => self.conditional(name, second, true),
                Some(second) => Err(unknown(format!(":{second}"))),
                None => Err(ExpandError::Brace),
            },
            '-' | '+' | '?' => self.conditional(name, operator, false),
            '#' | '%' => {
                let longest = self.eat(operator);
                let pattern = Pattern::new(&self.inner('}', true)?, self.lexer.escape);
                let value = value.unwrap_or_default();
                self.match_steps(&pattern, value)?;
                let rest = match operator {
                    '#' => pattern.without_start(value, longest),
                    _ => pattern.without_end(value, longest),
                };
                Ok(rest.to_owned())
            }
            '/' => {
                let all = self.eat('/');
                let pattern = Pattern::new(&self.inner('/', true)?, self.lexer.escape);
                let word = self.inner('}', false)?;
                let value = value.unwrap_or_default();
                self.match_steps(&pattern, value)?;
                pattern.replace(value, &word, all).ok_or(ExpandError::TooLong)
            }
            other => Err(unknown(other.to_string())),
        }
    }

    /// `-`, `+` and `?`; with `:` before them an empty variable counts as one that is not set.
    fn conditional(&mut self, name: &str, operator: char, colon: bool) -> Result<String, ExpandError> {
        let word = self.inner('}', false)?;
        let value = (self.lookup)(name);
        let present = value.filter(|value| !(colon && value.is_empty()));
        match operator {
            '-' => Ok(present.map_or(word, str::to_owned)),
            '+' => Ok(present.map(|_| word).unwrap_or_default()),
            _ => present.map(str::to_owned).ok_or_else(|| ExpandError::Required {
                name: name.to_owned(),
                message: word,
                is_set: value.is_some(),
            }),
        }
    }

    /// The word up to `stop`, itself expanded.
    fn inner(&mut self, stop: char, raw: bool) -> Result<String, ExpandError> {
        if self.depth == NESTING {
            return Err(ExpandError::TooDeep);
        }
        self.depth += 1;
        let outer = std::mem::take(&mut self.out);
        let found = self.read(Some(stop), raw);
        let inner = std::mem::replace(&mut self.out, outer).text;
        self.depth -= 1;
        if found? { Ok(inner) } else { Err(ExpandError::Brace) }
    }
}
