//! Patterns of paths.
//!
//! `*` is any text without a slash, `?` any letter but a slash, `[a-z]` and `[^a-z]` a letter of a set, `\` makes
//! the next letter literal. [`Glob::new`] also knows `**`, any number of folders.

mod class;

use class::Class;

use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    Class(Class),
    /// Any letter but a slash.
    Any,
    /// Any letters but slashes.
    Star,
    /// Anything.
    All,
    /// The next piece, or none of it.
    Maybe,
    /// Anything that ends in a slash.
    Folders,
}

/// A pattern for whole paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    pieces: Vec<Piece>,
}

impl Glob {
    /// A pattern of an ignore file or of `--exclude`, in which `**` stands for folders.
    ///
    /// # Errors
    /// A set that is not closed or has nothing in it, a backslash at the end.
    pub fn new(pattern: &str) -> Result<Self, Box<Problem>> {
        Self::read(pattern, true)
    }

    /// A source of `COPY` or `ADD`, in which `**` is no more than `*`.
    ///
    /// # Errors
    /// As [`Glob::new`].
    pub fn source(pattern: &str) -> Result<Self, Box<Problem>> {
        Self::read(pattern, false)
    }

    fn read(pattern: &str, knows_folders: bool) -> Result<Self, Box<Problem>> {
        let refuse = |detail| Box::new(Problem::Pattern { pattern: pattern.to_owned(), detail });
        let mut pieces = Vec::new();
        let mut rest = pattern;
        while let Some(letter) = rest.chars().next() {
            rest = &rest[letter.len_utf8()..];
            let piece = match letter {
                '*' if knows_folders && rest.starts_with('*') => {
                    rest = &rest[1..];
                    let is_all = stands_for_all(rest, pieces.is_empty());
                    rest = rest.strip_prefix('/').unwrap_or(rest);
                    if is_all {
                        Piece::All
                    } else {
                        pieces.push(Piece::Maybe);
                        Piece::Folders
                    }
                }
                '*' => Piece::Star,
                '?' => Piece::Any,
                '[' => {
                    let (class, tail) = Class::read(rest).map_err(refuse)?;
                    rest = tail;
                    Piece::Class(class)
                }
                '\\' => {
                    let escaped = rest.chars().next().ok_or_else(|| refuse("nothing follows the `\\`"))?;
                    rest = &rest[escaped.len_utf8()..];
                    Piece::Letter(escaped)
                }
                letter => Piece::Letter(letter),
            };
            pieces.push(piece);
        }
        Ok(Self { pieces })
    }

    /// Whether the whole of `path` matches.
    pub fn matches(&self, path: &str) -> bool {
        match self.literal_start(path) {
            Some((count, rest)) => self.run(count, rest).is_some_and(|states| states[self.pieces.len()]),
            None => false,
        }
    }

    /// Whether something below `folder` might match.
    pub fn may_match_below(&self, folder: &str) -> bool {
        let folder = format!("{folder}/");
        match self.literal_start(&folder) {
            // The pattern goes on where the folder ends.
            Some((count, "")) if count < self.pieces.len() => true,
            Some((count, rest)) => {
                self.run(count, rest).is_some_and(|states| states[..self.pieces.len()].contains(&true))
            }
            None => false,
        }
    }

    /// Compares letters as long as the pattern has nothing else: how many there were and what is left of the
    /// path; `None` where they differ.
    fn literal_start<'p>(&self, path: &'p str) -> Option<(usize, &'p str)> {
        let mut letters = path.chars();
        for (count, piece) in self.pieces.iter().enumerate() {
            let Piece::Letter(wanted) = piece else { return Some((count, letters.as_str())) };
            let rest = letters.as_str();
            match letters.next() {
                Some(letter) if letter == *wanted => {}
                Some(_) => return None,
                None => return Some((count, rest)),
            }
        }
        Some((self.pieces.len(), letters.as_str()))
    }

    /// Matches `text` with the pieces from `first` on: for each number of pieces whether they may have
    /// matched all of it; `None` where none can.
    fn run(&self, first: usize, text: &str) -> Option<Vec<bool>> {
        let mut states = vec![false; self.pieces.len() + 1];
        let mut next = states.clone();
        states[first] = true;
        self.pass(&mut states);
        for letter in text.chars() {
            next.fill(false);
            for (index, piece) in self.pieces.iter().enumerate().filter(|(index, _)| states[*index]) {
                match piece {
                    Piece::Letter(wanted) => next[index + 1] |= *wanted == letter,
                    Piece::Class(class) => next[index + 1] |= letter != '/' && class.has(letter),
                    Piece::Any => next[index + 1] |= letter != '/',
                    Piece::Star => next[index] |= letter != '/',
                    Piece::All => next[index] = true,
                    Piece::Maybe => {}
                    Piece::Folders => {
                        next[index] = true;
                        next[index + 1] |= letter == '/';
                    }
                }
            }
            self.pass(&mut next);
            std::mem::swap(&mut states, &mut next);
            if !states.contains(&true) {
                return None;
            }
        }
        Some(states)
    }

    /// Goes on where a piece matches nothing.
    fn pass(&self, states: &mut [bool]) {
        for (index, piece) in self.pieces.iter().enumerate() {
            if states[index] {
                states[index + 1] |= matches!(piece, Piece::Star | Piece::All | Piece::Maybe);
                if *piece == Piece::Maybe {
                    states[index + 2] = true;
                }
            }
        }
    }
}

/// Whether `**` before `rest` is anything at all and not just folders.
fn stands_for_all(rest: &str, is_first: bool) -> bool {
    // `**.py` is every path that ends so.
    let is_ending = is_first && !rest.starts_with('/') && !rest.contains(['*', '?', '[', '\\']);
    rest.is_empty() || rest == "/" || is_ending
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn whole_paths_match() {
        let rows: [(&str, &[&str], &[&str]); 22] = [
            ("a", &["a"], &["b", "a/b", "ab", ""]),
            ("*", &["a", ".a", ""], &["a/b"]),
            ("a*c", &["ac", "abc"], &["a/c", "abcd"]),
            ("?", &["a", "é"], &["", "ab", "/"]),
            ("**", &["a", "a/b", "a/b/c"], &[]),
            ("**/", &["a", "a/b"], &[]),
            ("**/*.py", &["a.py", "a/b.py", "a/b/c.py"], &["a.pyc", "a/b"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "ab"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]),
            ("**/a", &["a", "x/a", "x/y/a"], &["xa", "a/x"]),
            ("**file", &["file", "dir/file", "myfile"], &["file2"]),
            ("**.py", &["a.py", "x/a.py"], &["py"]),
            ("a**/*.txt", &["a/f.txt", "a/d/f.txt", "a/d/e/f.txt"], &["b/f.txt"]),
            ("a/*.txt**", &["a/f.txt"], &["a/b/f.txt"]),
            ("**/**/*.txt", &["f.txt", "d/f.txt", "d/e/f.txt"], &["f.txt2"]),
            ("a[b-d]e", &["ace", "abe"], &["aze", "ae", "a-e"]),
            ("a[^b-d]e", &["aze"], &["ace", "a/e"]),
            ("a[\\]]", &["a]"], &["a\\"]),
            (".*", &[".foo"], &["foo"]),
            ("abc.def", &["abc.def"], &["abcXdef"]),
            ("a\\*", &["a*"], &["ab"]),
            ("a.|)$(}+{bc", &["a.|)$(}+{bc"], &[]),
        ];
        for (pattern, good, bad) in rows {
            let glob = Glob::new(pattern).unwrap();
            for path in good {
                assert!(glob.matches(path), "{pattern} and {path}");
            }
            for path in bad {
                assert!(!glob.matches(path), "{pattern} and {path}");
            }
        }
        assert!(!Glob::source("a/**/b").unwrap().matches("a/x/y/b"));
        assert!(Glob::source("a/**/b").unwrap().matches("a/x/b"));
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for pattern in ["[", "[]", "[]a]", "[^]", "[a", "[a-", "[a-]", "[-a]", "a\\", "[\\"] {
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn folders_that_need_not_be_entered() {
        let rows: [(&str, &[&str], &[&str]); 6] = [
            ("docs/*.md", &["docs"], &["src", "docs/a", "doc"]),
            ("**/*.py", &["a", "a/b"], &[]),
            ("a/b/c", &["a", "a/b"], &["a/b/c", "b", "ab"]),
            ("a*/x", &["a", "ab"], &["b", "a/x"]),
            ("a/**", &["a", "a/b"], &["b"]),
            ("*", &[], &["a"]),
        ];
        for (pattern, good, bad) in rows {
            let glob = Glob::new(pattern).unwrap();
            for folder in good {
                assert!(glob.may_match_below(folder), "{pattern} below {folder}");
            }
            for folder in bad {
                assert!(!glob.may_match_below(folder), "{pattern} below {folder}");
            }
        }
    }
}
