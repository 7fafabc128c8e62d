//! A set of letters, `[a-z]`.

/// The letters within brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    /// All others: `[^…]`.
    negated: bool,
    ranges: Vec<(char, char)>,
}

impl Class {
    /// Reads what follows a `[`, and over the `]`; what is left comes back too.
    pub(super) fn read(text: &str) -> Result<(Self, &str), &'static str> {
        let (negated, mut rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let mut ranges = Vec::new();
        loop {
            if let Some(after) = rest.strip_prefix(']').filter(|_| !ranges.is_empty()) {
                return Ok((Self { negated, ranges }, after));
            }
            let (low, after) = letter(rest)?;
            let (high, after) = match after.strip_prefix('-') {
                Some(after) => letter(after)?,
                None => (low, after),
            };
            ranges.push((low, high));
            rest = after;
        }
    }

    pub(super) fn has(&self, letter: char) -> bool {
        self.ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter)) != self.negated
    }
}

fn letter(text: &str) -> Result<(char, &str), &'static str> {
    let mut letters = text.chars();
    match letters.next() {
        None => Err("a `[` is not closed"),
        Some(']') => Err("a `[` has nothing in it"),
        Some('-') => Err("a `-` in brackets stands between two letters"),
        Some('\\') => match letters.next() {
            Some(letter) => Ok((letter, letters.as_str())),
            None => Err("nothing follows the `\\`"),
        },
        Some(letter) => Ok((letter, letters.as_str())),
    }
}
