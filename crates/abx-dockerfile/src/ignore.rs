//! `.dockerignore`: which files of the context a build does not see.
//!
//! One pattern a line, as [`Glob`] reads them, from the root of the context on; a leading or trailing slash
//! means nothing. `#` begins a comment, `!` takes files back. The last pattern that matches a path, or a folder
//! above it, decides. So `*` and `!**/*.py` keep every Python file, wherever it lies, although its folder is
//! ignored.
//!
//! A walk asks [`Ignore::below`] for each entry with the answer for its folder, and need not enter a folder
//! where [`Ignore::may_keep_below`] says no. Folders that are ignored appear in an image only where something
//! below them is kept.

use crate::diagnostic::{Findings, Invalid};
use crate::glob::Glob;
use crate::limits::FILE_BYTES;
use crate::problem::Problem;
use crate::read::value::Refused;
use crate::source::{Source, Span};

/// Where the patterns for a Dockerfile are looked for: the first file that exists counts, alone. The first
/// lies beside the Dockerfile, the second in the root of the context.
///
/// ```
/// let files = abx_dockerfile::ignore::files("build/web.Dockerfile");
/// assert_eq!(files, ["build/web.Dockerfile.dockerignore", ".dockerignore"]);
/// ```
pub fn files(dockerfile: &str) -> [String; 2] {
    [format!("{dockerfile}.dockerignore"), ".dockerignore".to_owned()]
}

/// The patterns of an ignore file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignore {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    glob: Glob,
    /// Takes files back: `!`.
    keeps: bool,
}

/// What the patterns say of one path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The path is left out.
    pub is_ignored: bool,
    /// The patterns that match it or a folder above, in order.
    matched: Vec<usize>,
}

impl Ignore {
    /// Reads an ignore file; `file` is its name as the user knows it.
    ///
    /// # Errors
    /// Every malformed pattern.
    pub fn parse(text: &str, file: &str) -> Result<Self, Invalid> {
        let source = Source::new(text, file);
        let mut findings = Findings::new(&source);
        let mut rules = Vec::new();
        let mut start = 0;
        if source.text().len() > FILE_BYTES {
            findings.fault(Problem::TooLarge, Span::default());
        } else {
            for line in source.text().split_inclusive('\n') {
                match rule(line) {
                    Ok(rule) => rules.extend(rule),
                    Err(problem) => {
                        let indent = line.len() - line.trim_start().len();
                        let begin = start + indent;
                        findings.fault(*problem, Span { start: begin, end: begin + line.trim().len() });
                    }
                }
                start += line.len();
            }
        }
        findings.finish().map(|_| Self { rules })
    }

    /// The patterns of `--exclude` flags; in them `!` takes files back too.
    ///
    /// # Errors
    /// The first malformed pattern.
    pub fn of_patterns<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, Box<Problem>> {
        let rules = patterns.into_iter().filter_map(|pattern| self::pattern(pattern).transpose());
        rules.collect::<Result<_, _>>().map(|rules| Self { rules })
    }

    /// Nothing is ignored.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether the build does not see `path`, which is relative to the context and has single slashes.
    pub fn excludes(&self, path: &str) -> bool {
        let mut verdict = Verdict::default();
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends {
            verdict = self.below(&verdict, &path[..end]);
        }
        verdict.is_ignored
    }

    /// What the patterns say of `path`, whose folder they said `parent` of; of the context's root they say
    /// `Verdict::default()`.
    pub fn below(&self, parent: &Verdict, path: &str) -> Verdict {
        let mut verdict = Verdict::default();
        let mut inherited = parent.matched.iter().copied().peekable();
        for (index, rule) in self.rules.iter().enumerate() {
            let is_inherited = inherited.next_if_eq(&index).is_some();
            if is_inherited || rule.glob.matches(path) {
                verdict.matched.push(index);
                verdict.is_ignored = !rule.keeps;
            }
        }
        verdict
    }

    /// Whether something below `folder`, of which the patterns say `verdict`, may be kept.
    pub fn may_keep_below(&self, verdict: &Verdict, folder: &str) -> bool {
        // Only a later pattern can overrule the last one that matches.
        let last = verdict.matched.last().map_or(0, |last| last + 1);
        !verdict.is_ignored
            || self.rules[last..].iter().any(|rule| rule.keeps && rule.glob.may_match_below(folder))
    }
}

/// The rule of one line; none for comments and blank lines.
fn rule(line: &str) -> Result<Option<Rule>, Refused> {
    if line.starts_with('#') { Ok(None) } else { pattern(line) }
}

fn pattern(text: &str) -> Result<Option<Rule>, Refused> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (keeps, pattern) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim()));
    if pattern.is_empty() {
        let detail = "nothing follows the `!`";
        return Err(Box::new(Problem::Pattern { pattern: text.to_owned(), detail }));
    }
    Ok(Some(Rule { glob: Glob::new(&cleaned(pattern))?, keeps }))
}

/// The path without `.`, `..` where there is something to go up from, doubled slashes and slashes at its ends.
fn cleaned(pattern: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            // Above the root there is nothing.
            ".." if pattern.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

#[cfg(test)]
mod tests {
    use super::cleaned;

    #[test]
    fn patterns_are_cleaned() {
        let rows = [
            ("/a", "a"),
            ("a/", "a"),
            ("./a//b/.", "a/b"),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("/../a", "a"),
            ("a/../../b", "../b"),
            ("/", "."),
            (".", "."),
            ("**/", "**"),
        ];
        for (pattern, expected) in rows {
            assert_eq!(cleaned(pattern), expected, "for `{pattern}`");
        }
    }
}
