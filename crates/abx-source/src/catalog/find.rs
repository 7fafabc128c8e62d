//! From a listing and a version to the reference that is fetched.

use abx_reference::{Github, ReferenceError, Selector, Version};
use abx_spec::Listing;

/// What a listing's template is at the version asked for; at the listing's own `ref` where none was.
pub(crate) fn reference(listing: &Listing, selector: &Selector) -> Result<Github, ReferenceError> {
    match git_ref(selector) {
        None => Ok(listing.github.clone()),
        Some(git_ref) => listing.github.elsewhere(listing.github.subdirectory(), Some(&git_ref)),
    }
}

/// The ref that a version of a name is looked for at. A repository may spell the tag of 1.2.0 in several ways
/// (`v1.2.0`, `1.2.0`, `NAME/v1.2.0`), so that a single version is a range too.
pub(crate) fn git_ref(selector: &Selector) -> Option<String> {
    match selector {
        Selector::Latest => None,
        Selector::Range(range) => Some(range.to_string()),
        Selector::Exact(tag) => Some(match Version::parse(tag) {
            Some(version) => format!("={version}"),
            None => tag.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_reference::Reference;

    #[test]
    fn a_version_is_looked_for_among_the_tags() {
        let text = "templates: [{name: a, repo: o/r, path: s, ref: main}]";
        let index = abx_spec::index::parse(text, "index").expect("valid");
        for (name, expected) in [
            ("a", "o/r//s@main"),
            ("a:latest", "o/r//s@main"),
            ("a:^1.2", "o/r//s@^1.2"),
            ("a:~1.2", "o/r//s@~1.2"),
            ("a:1.2", "o/r//s@=1.2.0"),
            ("a:v1.2.3-rc.1", "o/r//s@=1.2.3-rc.1"),
            ("a:stable", "o/r//s@stable"),
        ] {
            let Ok(Reference::Name(parsed)) = Reference::parse(name) else { panic!("{name}") };
            let found = reference(&index.listings[0], parsed.selector()).expect(name).to_string();
            assert_eq!(found, expected, "{name}");
            assert!(matches!(Reference::parse(&found), Ok(Reference::Github(_))), "{found}");
        }
    }
}
