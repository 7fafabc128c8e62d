//! Which of a repository's tags are versions of a sub-directory, and the best of them. Pure.
//!
//! A tag is a version where it is one to the letter (`v1.2.0`, `1.2.0`, `v1.2`, `v1`), or, for a sub-directory, behind
//! its path or its last component and a `/` or `-`: `templates/web/v1.2.0`, `web/1.2.0`, `web-v1.2.0`. The most
//! particular kind that a repository has for the sub-directory counts alone: its path, else its name, else neither. So
//! a sub-directory with releases of its own never gets another one's.

use abx_reference::{Range, Version};

use super::tags::Tag;

/// How many versions an error lists.
const SHOWN: usize = 5;

/// What to choose.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    Range(&'a Range),
    /// The highest release.
    Latest,
}

/// The versions that a sub-directory has.
#[derive(Debug)]
pub(super) struct Versions<'a> {
    versions: Vec<Release<'a>>,
}

/// A tag that is a version.
#[derive(Debug)]
struct Release<'a> {
    tag: &'a Tag,
    version: Version,
    /// How many numbers are written: a `v1` stands for `1.0.0`.
    numbers: usize,
}

/// How a tag says which sub-directory it is for; the later the more particular.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Plain,
    Name,
    Path,
}

impl<'a> Versions<'a> {
    /// Sorts out the tags that count for a sub-directory, for the whole repository where it is `None`.
    pub(super) fn of(tags: &'a [Tag], subdirectory: Option<&str>) -> Self {
        let kinds: Vec<(Kind, Release)> = tags.iter().filter_map(|tag| release(tag, subdirectory)).collect();
        let best = kinds.iter().map(|(kind, _)| *kind).max();
        let alone = kinds.into_iter().filter(|(kind, _)| Some(*kind) == best);
        Self { versions: without_pointers(alone.map(|(_, release)| release).collect()) }
    }

    /// The best one; among equals the one written most fully, then the first by its letters.
    pub(super) fn choose(&self, wanted: Wanted) -> Option<&'a Tag> {
        let fits = |release: &&Release| match wanted {
            Wanted::Range(range) => range.matches(&release.version),
            Wanted::Latest => !release.version.is_prerelease(),
        };
        let best = self.versions.iter().filter(fits).reduce(|best, other| match other.outranks(best) {
            true => other,
            false => best,
        });
        best.map(|best| best.tag)
    }

    /// All of them, pre-releases too, highest first.
    pub(super) fn descending(&self) -> impl Iterator<Item = (&'a Tag, &Version)> {
        let mut all: Vec<&Release> = self.versions.iter().collect();
        all.sort_by(|one, other| other.version.cmp_precedence(&one.version));
        all.into_iter().map(|release| (release.tag, &release.version))
    }

    /// The names of the releases nearest to a range that none of them is in, highest first.
    pub(super) fn near(&self, range: &Range) -> Vec<String> {
        let mut releases: Vec<&Release> =
            self.versions.iter().filter(|release| !release.version.is_prerelease()).collect();
        releases.sort_by(|one, other| other.version.cmp_precedence(&one.version));
        let above = releases.partition_point(|release| release.version.outranks(&range.named()));
        let end = releases.len().min(above.saturating_sub(SHOWN / 2) + SHOWN);
        let releases = &releases[end.saturating_sub(SHOWN)..end];
        releases.iter().map(|release| release.tag.name.clone()).collect()
    }

    /// The highest pre-release that would be in the range, were it a release.
    pub(super) fn prerelease(&self, range: &Range) -> Option<&'a str> {
        let fits = |release: &&Release| {
            release.version.is_prerelease() && range.matches(&release.version.without_prerelease())
        };
        let best =
            self.versions.iter().filter(fits).max_by(|one, other| one.version.cmp_precedence(&other.version));
        best.map(|best| best.tag.name.as_str())
    }
}

impl Release<'_> {
    fn outranks(&self, other: &Self) -> bool {
        if self.version.outranks(&other.version) || other.version.outranks(&self.version) {
            return self.version.outranks(&other.version);
        }
        (self.numbers, &other.tag.name) > (other.numbers, &self.tag.name)
    }
}

fn release<'a>(tag: &'a Tag, subdirectory: Option<&str>) -> Option<(Kind, Release<'a>)> {
    let behind = |prefix: &str| tag.name.strip_prefix(prefix)?.strip_prefix(['/', '-']);
    let made = |kind, text| Some((kind, Release { tag, version: version(text)?, numbers: numbers(text) }));
    if let Some(path) = subdirectory {
        let name = path.rsplit('/').next().unwrap_or(path);
        let of_path = behind(path).and_then(|text| made(Kind::Path, text));
        let found = of_path.or_else(|| behind(name).and_then(|text| made(Kind::Name, text)));
        if found.is_some() {
            return found;
        }
    }
    made(Kind::Plain, &tag.name)
}

/// A number alone is a date or a build: `20260801`.
fn version(text: &str) -> Option<Version> {
    let is_number = text.bytes().all(|letter| letter.is_ascii_digit());
    if is_number { None } else { Version::parse(text) }
}

fn numbers(text: &str) -> usize {
    text.split(['-', '+']).next().unwrap_or(text).split('.').count()
}

/// Without tags that only point at one of the others: beside a `v1.4.2`, `v1` and `v1.4` are moved with each release.
fn without_pointers(versions: Vec<Release>) -> Vec<Release> {
    let full: Vec<Version> = versions
        .iter()
        .filter(|release| release.numbers == 3)
        .map(|release| release.version.clone())
        .collect();
    let is_pointer =
        |release: &Release| full.iter().any(|version| version.begins_like(&release.version, release.numbers));
    versions.into_iter().filter(|release| release.numbers == 3 || !is_pointer(release)).collect()
}

#[cfg(test)]
mod tests;
