//! Which tag is chosen, by table.

use super::*;

fn tags(names: &str) -> Vec<Tag> {
    let tag = |name: &str| Tag { name: name.to_owned(), sha: "1".repeat(40), is_object: false };
    names.split_whitespace().map(tag).collect()
}

/// `latest` or a range.
fn chosen(names: &str, subdirectory: &str, wanted: &str) -> String {
    let mut tags = tags(names);
    let subdirectory = Some(subdirectory).filter(|path| !path.is_empty());
    let choose = |tags: &[Tag]| {
        let range = Range::parse(wanted).ok();
        let wanted = range.as_ref().map_or(Wanted::Latest, Wanted::Range);
        let chosen = Versions::of(tags, subdirectory).choose(wanted);
        chosen.map_or_else(|| "-".to_owned(), |tag| tag.name.clone())
    };
    let first = choose(&tags);
    tags.reverse();
    assert_eq!(choose(&tags), first, "the order of {names} has a say");
    first
}

#[test]
fn the_highest_version_in_the_range_is_chosen() {
    let names = "v0.2.5 v0.3.0 v1.2.0 1.2.9 v1.10.0 v2.0.0-rc.1 v2.0.0-rc.2 main stable release-9.9.9";
    for (wanted, expected) in [
        ("^1.2", "v1.10.0"),
        ("~1.2", "1.2.9"),
        ("~=1.2", "1.2.9"),
        ("^0.2", "v0.2.5"),
        ("^0.2.9", "-"),
        (">=1.2, <1.10", "1.2.9"),
        ("<1", "v0.3.0"),
        ("=1.2.0", "v1.2.0"),
        ("^2", "-"),
        ("^2.0.0-rc.1", "v2.0.0-rc.2"),
        (">=2.0.0-rc.1, <3", "v2.0.0-rc.2"),
        ("latest", "v1.10.0"),
    ] {
        assert_eq!(chosen(names, "", wanted), expected, "{wanted}");
    }
}

#[test]
fn what_is_no_release_is_never_the_latest() {
    for (names, expected) in [
        ("", "-"),
        ("nightly 20260801 2026", "-"),
        ("v1.0.0-rc.1", "-"),
        ("v1.0.0-rc.1 v0.9.0", "v0.9.0"),
        ("v1.0.0 20260801", "v1.0.0"),
        ("v1.0.0 2026-08-01", "v1.0.0"),
        ("v1.2 v1.10", "v1.10"),
        ("v1 v2", "v2"),
        ("v99999999999999999999.0.0 v1.0.0", "v1.0.0"),
        // Whichever it is, it is the same one each time.
        ("v1.0.0 1.0.0", "1.0.0"),
        ("v1.0.0+b v1.0.0+a", "v1.0.0+a"),
        ("v1.0.0+9 v1.0.1+1", "v1.0.1+1"),
    ] {
        assert_eq!(chosen(names, "", "latest"), expected, "{names}");
    }
}

#[test]
fn a_tag_that_points_at_a_release_is_none() {
    let names = "v1 v1.4 v1.4.2 v1.3.9 v2 v2.1.0 v3";
    for (wanted, expected) in [
        ("~1.0", "-"),
        ("^1", "v1.4.2"),
        ("~1.4", "v1.4.2"),
        ("^2", "v2.1.0"),
        ("^3", "v3"),
        ("latest", "v3"),
    ] {
        assert_eq!(chosen(names, "", wanted), expected, "{wanted}");
    }
}

#[test]
fn the_most_particular_tags_of_a_sub_directory_count_alone() {
    let mono = "v9.0.0 web-v1.0.0 web-v1.1.0 api/v2.0.0 api-2.1.0 a/web/v3.0.0 web-tools-v7.0.0 9.9.9";
    for (subdirectory, wanted, expected) in [
        ("", "latest", "9.9.9"),
        ("web", "latest", "web-v1.1.0"),
        ("web", "^9", "-"),
        ("web", "^3", "-"),
        ("b/web", "latest", "web-v1.1.0"),
        ("a/web", "latest", "a/web/v3.0.0"),
        ("a/web", "^1", "-"),
        ("api", "latest", "api-2.1.0"),
        ("api", "~2.0", "api/v2.0.0"),
        ("other", "latest", "9.9.9"),
        ("other", "^9", "9.9.9"),
        ("web-tools", "latest", "web-tools-v7.0.0"),
        ("eb", "latest", "9.9.9"),
        ("web/v1.1.0", "latest", "9.9.9"),
    ] {
        assert_eq!(chosen(mono, subdirectory, wanted), expected, "{subdirectory} {wanted}");
    }
    // A pre-release is a version of its own sub-directory as well.
    assert_eq!(chosen("v1.0.0 web-v1.0.0-rc.1", "web", "latest"), "-");
}

#[test]
fn the_nearest_releases_are_named_where_none_fits() {
    let tags =
        tags("v0.9.0 v1.0.0 v1.1.0 v1.2.0 v1.9.0 v2.0.0 v3.0.0 v4.0.0-rc.1 v4.0.0-rc.2 v3.5.0-a v3.1.0");
    let versions = Versions::of(&tags, None);
    let range = |text| Range::parse(text).expect(text);
    assert_eq!(versions.near(&range("~1.4")), ["v2.0.0", "v1.9.0", "v1.2.0", "v1.1.0", "v1.0.0"]);
    assert_eq!(versions.near(&range(">=9")), ["v3.1.0", "v3.0.0", "v2.0.0", "v1.9.0", "v1.2.0"]);
    assert_eq!(versions.prerelease(&range("^4")), Some("v4.0.0-rc.2"));
    assert_eq!(versions.prerelease(&range("^5")), None);
}
