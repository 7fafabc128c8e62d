//! Patterns after `#`, `%` and `/`: `*` is any text, `?` any letter, the escape character makes the next one
//! literal.

use crate::limits::WORD_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    Any,
    Star,
}

/// A pattern that matches text from a given place on.
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
}

impl Pattern {
    pub(crate) fn new(text: &str, escape: char) -> Self {
        let mut pieces = Vec::new();
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            let piece = match letter {
                '*' => Piece::Star,
                '?' => Piece::Any,
                letter if letter == escape => Piece::Letter(letters.next().unwrap_or(letter)),
                letter => Piece::Letter(letter),
            };
            if piece != Piece::Star || pieces.last() != Some(&Piece::Star) {
                pieces.push(piece);
            }
        }
        Self { pieces }
    }

    /// Steps that matching takes for each letter.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// `text` without the shortest or longest start that matches.
    pub(crate) fn without_start<'t>(&self, text: &'t str, longest: bool) -> &'t str {
        let letters: Vec<char> = text.chars().collect();
        match ends(&self.pieces, &letters, longest) {
            Some(count) => skip(text, count),
            None => text,
        }
    }

    /// `text` without the shortest or longest end that matches.
    pub(crate) fn without_end<'t>(&self, text: &'t str, longest: bool) -> &'t str {
        let letters: Vec<char> = text.chars().rev().collect();
        let pieces: Vec<Piece> = self.pieces.iter().copied().rev().collect();
        match ends(&pieces, &letters, longest) {
            Some(count) => &text[..text.len() - skip(text, letters.len() - count).len()],
            None => text,
        }
    }

    /// `text` with the first match, or `all`, replaced by `word`; the longest match counts. `None` where that
    /// becomes too long.
    pub(crate) fn replace(&self, text: &str, word: &str, all: bool) -> Option<String> {
        let letters: Vec<char> = text.chars().collect();
        let mut out = String::new();
        let mut at = 0;
        while let Some((start, end)) = find(&self.pieces, &letters, at) {
            out.extend(&letters[at..start]);
            out.push_str(word);
            if end == start {
                out.extend(letters.get(start));
            }
            at = end.max(start + 1);
            if out.len() > WORD_BYTES {
                return None;
            }
            if !all || at > letters.len() {
                break;
            }
        }
        out.extend(letters.get(at..).unwrap_or_default());
        Some(out)
    }
}

/// `text` without its first `count` letters.
fn skip(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or("", |(at, _)| &text[at..])
}

/// How many letters, from the first on, match.
fn ends(pieces: &[Piece], letters: &[char], longest: bool) -> Option<usize> {
    let mut states = States::new(pieces);
    states.enter(0);
    let mut found = None;
    for at in 0..=letters.len() {
        if states.is_complete() {
            found = Some(at);
            if !longest {
                break;
            }
        }
        match letters.get(at) {
            Some(letter) if !states.is_dead() => states.step(*letter),
            _ => break,
        }
    }
    found
}

/// The leftmost match at `from` or later, as long as it can be.
fn find(pieces: &[Piece], letters: &[char], from: usize) -> Option<(usize, usize)> {
    let mut states = States::new(pieces);
    let mut found: Option<(usize, usize)> = None;
    for at in from..=letters.len() {
        if found.is_none() {
            states.enter(at);
        }
        if let Some(start) = states.starts[pieces.len()]
            && found.is_none_or(|(first, _)| start <= first)
        {
            found = Some((start, at));
        }
        let Some(letter) = letters.get(at) else { break };
        if let Some((first, _)) = found {
            states.forget_after(first);
            if states.is_dead() {
                break;
            }
        }
        states.step(*letter);
    }
    found
}

/// For each number of pieces that are matched: where the match began that came so far, the leftmost of them.
struct States<'p> {
    pieces: &'p [Piece],
    starts: Vec<Option<usize>>,
}

impl<'p> States<'p> {
    fn new(pieces: &'p [Piece]) -> Self {
        Self { pieces, starts: vec![None; pieces.len() + 1] }
    }

    /// Begins a match at `start`, unless an earlier one has come as far.
    fn enter(&mut self, start: usize) {
        if self.starts[0].is_none() {
            self.starts[0] = Some(start);
        }
        self.pass_stars();
    }

    /// A star may match nothing.
    fn pass_stars(&mut self) {
        for index in 0..self.pieces.len() {
            if self.pieces[index] == Piece::Star {
                self.starts[index + 1] = earlier(self.starts[index], self.starts[index + 1]);
            }
        }
    }

    fn step(&mut self, letter: char) {
        for index in (0..=self.pieces.len()).rev() {
            let stays = self.pieces.get(index) == Some(&Piece::Star);
            let kept = if stays { self.starts[index] } else { None };
            let came = match index.checked_sub(1).map(|before| self.pieces[before]) {
                Some(Piece::Any) => self.starts[index - 1],
                Some(Piece::Letter(wanted)) if wanted == letter => self.starts[index - 1],
                _ => None,
            };
            self.starts[index] = earlier(kept, came);
        }
        self.pass_stars();
    }

    fn is_complete(&self) -> bool {
        self.starts[self.pieces.len()].is_some()
    }

    fn is_dead(&self) -> bool {
        self.starts.iter().all(Option::is_none)
    }

    fn forget_after(&mut self, first: usize) {
        self.starts.iter_mut().for_each(|start| *start = start.filter(|start| *start <= first));
    }
}

fn earlier(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn starts_and_ends() {
        let rows = [
            ("foobarbaz", "*ba", true, "z"),
            ("foobarbaz", "*ba", false, "rbaz"),
            ("foobar", "", true, "foobar"),
            ("foobar", "*", true, ""),
            ("foobar", "*", false, "foobar"),
            ("foobar", "f?o", false, "bar"),
            ("foobar", "o", true, "foobar"),
            ("a*b", "a\\*", true, "b"),
            ("ab", "a\\*", true, "ab"),
            ("ééa", "é", true, "éa"),
        ];
        for (text, pattern, longest, expected) in rows {
            assert_eq!(
                Pattern::new(pattern, '\\').without_start(text, longest),
                expected,
                "#{pattern} of {text}"
            );
        }
        let rows = [
            ("a.tar.gz", ".*", true, "a"),
            ("a.tar.gz", ".*", false, "a.tar"),
            ("a.tar.gz", "?z", false, "a.tar."),
            ("aé", "é", false, "a"),
            ("a", "b", false, "a"),
            ("abc", "*", true, ""),
        ];
        for (text, pattern, longest, expected) in rows {
            assert_eq!(
                Pattern::new(pattern, '\\').without_end(text, longest),
                expected,
                "%{pattern} of {text}"
            );
        }
    }

    #[test]
    fn replacements() {
        let rows = [
            ("string", "ri", "RI", false, "stRIng"),
            ("aXbXc", "X", "-", false, "a-bXc"),
            ("aXbXc", "X", "-", true, "a-b-c"),
            ("foobar", "o*a", "-", true, "f-r"),
            ("aaa", "a", "bb", true, "bbbbbb"),
            ("abcabc", "a?c", "", true, ""),
            ("abc", "z", "-", true, "abc"),
            ("a/b/c", "\\/", ":", true, "a:b:c"),
            ("xaab", "a*b", "-", false, "x-"),
            ("xaxab", "ab", "-", false, "xax-"),
        ];
        for (text, pattern, word, all, expected) in rows {
            let replaced = Pattern::new(pattern, '\\').replace(text, word, all);
            assert_eq!(replaced.as_deref(), Some(expected), "/{pattern} of {text}");
        }
    }
}
