//! What follows the `:` of a name.

use std::fmt;

use crate::error::{Part, Reason};
use crate::{Range, Version};

/// The longest tag, as registries have it.
const TAG_LIMIT: usize = 128;

/// Which version of a named template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selector {
    /// `:latest` or nothing: the newest release.
    Latest,
    /// One version or tag to the letter: `1.2.3`, `v1.0`, `stable`.
    Exact(String),
    /// `^1`, `~1.2`, `~=1.2`, `>=1, <2`.
    Range(Range),
}

impl Selector {
    /// Parses the text behind the `:`.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if Range::looks_like_one(text) {
            return Range::parse(text).map(Self::Range);
        }
        check_tag(text, Part::Version)?;
        Ok(Self::Exact(text.to_owned()))
    }

    /// The best of `tags`: the literal tag, or the highest version in the range or, for the newest, the
    /// highest release (a pre-release where there is no other; a tag called `latest` before all).
    pub fn choose<'a>(&self, tags: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let mut best: Option<(&str, Version)> = None;
        for tag in tags {
            match self {
                Self::Exact(wanted) if wanted == tag => return Some(tag),
                Self::Latest if tag == "latest" => return Some(tag),
                _ => {}
            }
            let Some(version) = Version::parse(tag) else { continue };
            let fits = match self {
                Self::Latest => true,
                Self::Exact(wanted) => Version::parse(wanted).is_some_and(|wanted| wanted == version),
                Self::Range(range) => range.matches(&version),
            };
            if fits && best.as_ref().is_none_or(|(_, other)| version.outranks(other)) {
                best = Some((tag, version));
            }
        }
        best.map(|(tag, _)| tag)
    }
}

/// Checks the grammar of an image tag, which a template's tag shares.
pub(crate) fn check_tag(text: &str, part: Part) -> Result<(), Reason> {
    if text.is_empty() {
        return Err(Reason::Missing(part));
    }
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-' | '+');
    if let Some(letter) = text.chars().find(|&letter| !allowed(letter)) {
        return Err(Reason::Letter { part, letter });
    }
    if text.starts_with(['.', '-', '+']) {
        return Err(Reason::Shape { part, text: text.to_owned() });
    }
    if text.len() > TAG_LIMIT {
        return Err(Reason::TooLong { part, limit: TAG_LIMIT });
    }
    Ok(())
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Exact(tag) => f.write_str(tag),
            Self::Range(range) => range.fmt(f),
        }
    }
}
