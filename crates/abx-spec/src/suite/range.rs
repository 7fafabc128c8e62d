//! What a version must be, whoever has numbered it.

use std::cmp::Ordering;

/// Demands on a version, all of which hold: `3.11` and `3.11.*` (begins so), `=3.11.2`, `>=2.39`, `<3`, `^1.2`, `~1.2.3`,
/// `*` (any), several of them with spaces or commas between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    text: String,
    bounds: Vec<Bound>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bound {
    how: How,
    numbers: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Begins,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `^`: up to the next number in front of which only zeros stand.
    Compatible,
    /// `~`: what comes behind the second number may grow.
    Close,
}

/// In the order in which they are tried: longer signs first.
const SIGNS: [(&str, How); 9] = [
    (">=", How::GreaterOrEqual),
    ("<=", How::LessOrEqual),
    ("==", How::Equal),
    ("~=", How::Close),
    (">", How::Greater),
    ("<", How::Less),
    ("=", How::Equal),
    ("^", How::Compatible),
    ("~", How::Close),
];

impl Range {
    /// Reads a range; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bounds = Vec::new();
        let mut sign = "";
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            if SIGNS.iter().any(|(known, _)| *known == word) && sign.is_empty() {
                // `>= 2` is one.
                sign = word;
                continue;
            }
            bounds.extend(bound(&format!("{sign}{word}"))?);
            sign = "";
        }
        let is_whole = sign.is_empty() && !text.trim().is_empty();
        is_whole.then(|| Self { text: text.trim().to_owned(), bounds })
    }

    /// Whether a version is in it. What is no number is left aside: `1:2.39.5-0+deb12u2` is 2.39.5.
    pub fn contains(&self, version: &str) -> bool {
        let numbers = numbers(version);
        !numbers.is_empty() && self.bounds.iter().all(|bound| bound.holds(&numbers))
    }
}

/// `None` where it is malformed; no bound for `*`.
fn bound(word: &str) -> Option<Option<Bound>> {
    if word == "*" {
        return Some(None);
    }
    let (how, rest) = SIGNS
        .iter()
        .find_map(|(sign, how)| Some((*how, word.strip_prefix(sign)?)))
        .unwrap_or((How::Begins, word));
    let rest = rest.strip_prefix('v').unwrap_or(rest);
    let rest = match how {
        How::Begins => rest.strip_suffix(".*").unwrap_or(rest),
        _ => rest,
    };
    let numbers: Option<Vec<u64>> = rest.split('.').map(|part| part.parse().ok()).collect();
    Some(Some(Bound { how, numbers: numbers? }))
}

impl Bound {
    fn holds(&self, version: &[u64]) -> bool {
        let order = compare(version, &self.numbers);
        match self.how {
            How::Begins => compare(&first(version, self.numbers.len()), &self.numbers).is_eq(),
            How::Equal => order.is_eq(),
            How::Less => order.is_lt(),
            How::LessOrEqual => order.is_le(),
            How::Greater => order.is_gt(),
            How::GreaterOrEqual => order.is_ge(),
            How::Compatible => {
                let zeros = self.numbers.iter().take_while(|number| **number == 0).count();
                order.is_ge() && self.shares(version, (zeros + 1).min(self.numbers.len()))
            }
            How::Close => {
                let fixed = self.numbers.len().min(2);
                order.is_ge() && self.shares(version, fixed)
            }
        }
    }

    fn shares(&self, version: &[u64], count: usize) -> bool {
        compare(&first(version, count), &first(&self.numbers, count)).is_eq()
    }
}

fn first(numbers: &[u64], count: usize) -> Vec<u64> {
    numbers.iter().copied().take(count).collect()
}

/// A part that is not there is 0.
fn compare(one: &[u64], other: &[u64]) -> Ordering {
    let part = |numbers: &[u64], at: usize| numbers.get(at).copied().unwrap_or(0);
    (0..one.len().max(other.len()))
        .map(|at| part(one, at).cmp(&part(other, at)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// The numbers a version begins with: an epoch before `:` is left out, and all from the first other letter on.
fn numbers(version: &str) -> Vec<u64> {
    let version = version.trim();
    let version = match version.split_once(':') {
        Some((epoch, rest)) if epoch.bytes().all(|letter| letter.is_ascii_digit()) => rest,
        _ => version,
    };
    let version = version.trim_start_matches('v');
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    version[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_their_ranges() {
        let rows = [
            ("3.11", "3.11.2", true),
            ("3.11.*", "3.11", true),
            ("3.11", "3.110.2", false),
            ("*", "0.0.1", true),
            ("*", "none", false),
            (">=2.39", "1:2.39.5-0+deb12u2", true),
            ("=2.39.5", "1:2.39.5-0+deb12u2", true),
            ("=2.39", "2.39.5", false),
            ("==1.0", "1.0.0", true),
            (">=2, <3", "2.9.1.post1", true),
            (">= 2 < 3", "3.0.0", false),
            (">2", "2.0.0", false),
            ("<=2.1", "2.1.0rc1", true),
            ("^1.2", "1.9.0", true),
            ("^1.2", "1.1.9", false),
            ("^1.2", "2.0", false),
            ("^0.2", "0.2.9", true),
            ("^0.2", "0.3.0", false),
            ("^20", "v20.18.0", true),
            ("~1.2.3", "1.2.9", true),
            ("~1.2.3", "1.3.0", false),
            ("~1.2", "1.2.9", true),
            ("~1.2", "1.9.0", false),
            ("~1", "1.9.0", true),
            ("~=1.2.3", "1.2.2", false),
            ("5", "5.2.15(1)-release", true),
        ];
        for (range, version, expected) in rows {
            let parsed = Range::parse(range).expect(range);
            assert_eq!(parsed.contains(version), expected, "`{version}` in `{range}`");
        }
    }

    #[test]
    fn what_is_no_range_is_none() {
        for text in ["", "  ", "abc", ">=", ">= >= 2", "1.x", "=>1", "1..2", "^", "1.2-beta"] {
            assert_eq!(Range::parse(text), None, "`{text}`");
        }
    }
}
