//! What people may look for in a template, wherever it is from.

use abx_reference::{Github, Version};
use abx_spec::{Listing, Spec};

use super::Catalog;
use crate::{SourceContext, kept, stored};

/// One template as searches see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub name: String,
    pub description: Option<String>,
    pub tags: Vec<String>,
    /// Phrases of tasks it is for.
    pub triggers: Vec<String>,
    /// More words on what it is for.
    pub purpose: Option<String>,
    pub category: Option<String>,
    pub author: Option<String>,
    /// `official`, `community` or `experimental`; a template of this machine has none.
    pub status: Option<&'static str>,
    pub source: Source,
}

/// Where a template is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    /// Its newest tag.
    Local(String),
    Catalog(Github),
}

/// Every template that can be told anything of: built-in, local, and those of the catalog where there is one.
pub fn cards(context: &SourceContext, catalog: Option<&Catalog>) -> Vec<Card> {
    let builtin = |builtin: &crate::Builtin| {
        let text = std::str::from_utf8(builtin.file("template.yaml")?.content).ok()?;
        let spec = abx_spec::parse(text, builtin.name).ok()?.spec;
        Some(Card { status: Some("official"), ..Card::of_spec(builtin.name, &spec, Source::BuiltIn) })
    };
    let local = |name: &String| {
        let tag = newest(&stored::tags(&context.home, name))?;
        // What is damaged has a name all the same.
        let packages = kept::packages(&context.home, name, &tag).unwrap_or_default();
        let spec = packages.last().map(|package| package.spec.clone()).unwrap_or_default();
        Some(Card::of_spec(name, &spec, Source::Local(tag)))
    };
    let listed = catalog.map(|catalog| catalog.index.listings.as_slice()).unwrap_or_default();
    let mut cards: Vec<Card> = context.builtins.iter().filter_map(builtin).collect();
    cards.extend(stored::names(&context.home).iter().filter_map(local));
    cards.extend(listed.iter().map(Card::of_listing));
    cards
}

/// The highest version; where none is one, the last by name.
fn newest(tags: &[String]) -> Option<String> {
    let mut best: Option<(&String, Option<Version>)> = None;
    for tag in tags {
        if tag == "latest" {
            return Some(tag.clone());
        }
        let version = Version::parse(tag);
        let is_better = match (&best, &version) {
            (None, _) | (Some((_, None)), _) => true,
            (Some((_, Some(known))), Some(version)) => version.outranks(known),
            (Some(_), None) => false,
        };
        if is_better {
            best = Some((tag, version));
        }
    }
    best.map(|(tag, _)| tag.clone())
}

impl Card {
    fn of_spec(name: &str, spec: &Spec, source: Source) -> Self {
        let metadata = spec.metadata.clone();
        Self {
            name: name.to_owned(),
            description: metadata.description,
            tags: metadata.tags,
            triggers: spec.agent.triggers.clone(),
            purpose: spec.agent.description.clone(),
            category: metadata.category,
            author: metadata.author,
            status: None,
            source,
        }
    }

    fn of_listing(listing: &Listing) -> Self {
        let listing = listing.clone();
        Self {
            name: listing.name,
            description: listing.description,
            tags: listing.tags,
            triggers: listing.triggers,
            purpose: None,
            category: listing.category,
            author: listing.author,
            status: Some(listing.status.as_str()),
            source: Source::Catalog(listing.github),
        }
    }
}

impl std::fmt::Display for Source {
    /// The words of a table; for a template of the catalog the reference itself.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Local(_) => f.write_str("local"),
            Self::Catalog(github) => github.fmt(f),
        }
    }
}

#[cfg(test)]
pub(super) mod tests_support {
    use super::{Card, Source};

    /// A card of this machine, official ones apart.
    pub(in super::super) fn card(
        name: &str,
        description: &str,
        tags: &[&str],
        category: &str,
        status: Option<&'static str>,
    ) -> Card {
        Card {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            triggers: Vec::new(),
            purpose: None,
            category: Some(category.to_owned()),
            author: None,
            status,
            source: Source::Local("latest".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_newest_tag_is_the_highest_version() {
        for (tags, expected) in [
            (&["1.10.0", "1.9.0"][..], Some("1.10.0")),
            (&["1.0.0", "2.0.0-rc.1"], Some("1.0.0")),
            (&["1.0.0", "stable"], Some("1.0.0")),
            (&["blue", "green"], Some("green")),
            (&["3.0.0", "latest"], Some("latest")),
            (&[], None),
        ] {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            assert_eq!(newest(&tags).as_deref(), expected, "{tags:?}");
        }
    }
}
