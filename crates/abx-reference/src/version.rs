//! Versions and ranges of them, in the spellings people use.

use std::cmp::Ordering;
use std::fmt;

use crate::error::Reason;

/// A version: SemVer, with an optional leading `v` and missing numbers read as 0 (`v1`, `1.2`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version(semver::Version);

impl Version {
    /// `None` where the text is no version (a branch, say).
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let numbers = text.find(['-', '+']).unwrap_or(text.len());
        let (numbers, rest) = text.split_at(numbers);
        let missing = 2usize.checked_sub(numbers.matches('.').count())?;
        semver::Version::parse(&format!("{numbers}{}{rest}", ".0".repeat(missing))).ok().map(Self)
    }

    /// Parses what SemVer itself allows, nothing more; the message says what is wrong.
    pub fn parse_strict(text: &str) -> Result<Self, String> {
        semver::Version::parse(text).map(Self).map_err(|error| error.to_string())
    }

    /// Whether it names a pre-release.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// Whether it is to be preferred to `other` as the newest: any release over any pre-release, then by
    /// precedence, in which build metadata has no say.
    pub fn outranks(&self, other: &Self) -> bool {
        match (self.is_prerelease(), other.is_prerelease()) {
            (false, true) => true,
            (true, false) => false,
            _ => self.cmp_precedence(other).is_gt(),
        }
    }

    /// The order of SemVer, in which build metadata has no say.
    pub fn cmp_precedence(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }

    /// The release that a pre-release leads to.
    pub fn without_prerelease(&self) -> Self {
        Self(semver::Version { pre: semver::Prerelease::EMPTY, ..self.0.clone() })
    }

    /// Whether the first `count` of the three numbers are the same.
    pub fn begins_like(&self, other: &Self, count: usize) -> bool {
        self.numbers().iter().zip(other.numbers()).take(count).all(|(one, other)| *one == other)
    }

    fn numbers(&self) -> [u64; 3] {
        [self.0.major, self.0.minor, self.0.patch]
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of versions: `^1`, `~1.2` (also written `~=1.2`), `>=1.2, <2`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    text: String,
    requirement: semver::VersionReq,
}

impl Range {
    /// Whether the text begins as a range does. Git forbids `^` and `~` in the names of refs.
    pub(crate) fn looks_like_one(text: &str) -> bool {
        text.starts_with(['^', '~', '>', '<', '='])
    }

    /// Parses one or more comparisons, separated by commas.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        let malformed = || Reason::Range { text: text.to_owned() };
        let plain = text.replace("~=", "~");
        if !plain.split(',').all(|comparison| Self::looks_like_one(comparison.trim_start())) {
            return Err(malformed());
        }
        let requirement = semver::VersionReq::parse(&plain).map_err(|_| malformed())?;
        Ok(Self { text: text.to_owned(), requirement })
    }

    /// Whether `version` lies in the range; a pre-release only where the range names one of the same version.
    pub fn matches(&self, version: &Version) -> bool {
        self.requirement.matches(&version.0)
    }

    /// The first version that the range names: 1.2.0 of `^1.2`.
    pub fn named(&self) -> Version {
        let first = self.requirement.comparators.first();
        let numbers = first.map(|first| (first.major, first.minor.unwrap_or(0), first.patch.unwrap_or(0)));
        let (major, minor, patch) = numbers.unwrap_or_default();
        Version(semver::Version::new(major, minor, patch))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
