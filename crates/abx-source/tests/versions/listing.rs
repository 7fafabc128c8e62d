//! How the tags of a repository are asked for, and what can go wrong then.

use std::time::Duration;

use abx_core::{Fault, Secret};
use abx_source::GithubSettings;
use abx_test::github::{LoopbackGithub, Trick};

use crate::world::World;

#[tokio::test]
async fn a_thousand_tags_cost_two_requests_and_one_when_nothing_has_changed() {
    let world = World::with_a_thousand(false);
    assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.99.9 2".to_owned(), 2));
    assert_eq!(world.costs("o/r@~1.5", &world.settings()).await, ("*v1.5.9 1059".to_owned(), 0));
    assert_eq!(world.costs("o/r@^1", &world.stale()).await, ("*v1.99.9 2".to_owned(), 1));
    // An annotated tag is an object that leads to the commit, once.
    let world = World::with_a_thousand(true);
    assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.99.9 2".to_owned(), 3));
    assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.99.9 2".to_owned(), 0));
    assert_eq!(world.costs("o/r@^1", &world.stale()).await, ("*v1.99.9 2".to_owned(), 1));
}

#[tokio::test]
async fn a_tag_that_is_gone_before_its_commit_is_known_is_no_ref() {
    let world = World::with_a_thousand(true);
    world.github.play("/git/tags/", Trick::Refuse(404, vec![], "Not Found"), 1);
    let picture = world.picture("o/r@^1", &world.settings()).await;
    assert_eq!(picture, "E2001 `o/r` has no branch, tag or commit `v1.99.9`");
    assert_eq!(world.picture("o/r@^1", &world.settings()).await, "*v1.99.9 2");
}

#[tokio::test]
async fn a_server_without_the_question_for_all_is_asked_for_its_pages() {
    let world = World::with_a_thousand(true);
    world.github.play("/matching-refs/", Trick::Refuse(404, vec![], "Not Found"), usize::MAX);
    assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.99.9 2".to_owned(), 11));
    let pages = world.github.asked("/tags?per_page=100");
    assert_eq!(pages.len(), 10, "{pages:?}");
    assert_eq!(world.costs("o/r@~1.5", &world.settings()).await, ("*v1.5.9 1059".to_owned(), 0));
}

#[tokio::test]
async fn refusals_in_the_middle_are_told_apart() {
    let limit =
        || vec![("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", "1900000000".to_owned())];
    let unknown = || Trick::Refuse(404, vec![], "Not Found");
    let link = |text: &str| Trick::Header("Link", text.to_owned());
    let other = LoopbackGithub::start();
    let host = &other.url()[7..];
    let rows = [
        (
            "&page=4",
            Trick::Refuse(403, limit(), "API rate limit exceeded"),
            "E5000 the hourly limit of requests",
        ),
        ("&page=4", Trick::Refuse(502, vec![], ""), "E5004 HOST failed with status 502"),
        (
            "&page=4",
            Trick::Body(b"<html>".to_vec()),
            "E5004 HOST gave an answer that makes no sense: it is no JSON",
        ),
        (
            "&page=4",
            Trick::Body(b"{}".to_vec()),
            "E5004 HOST gave an answer that makes no sense: it is no list",
        ),
        ("&page=4", Trick::Refuse(401, vec![], ""), "E1010 HOST refused the token for `o/r`"),
        (
            "/tags?",
            link("<http://HOST/repos/o/r/tags?page=999999999>; rel=\"last\", <?page=2>; rel=\"next\""),
            "E2006 `o/r` has more than 10000 tags",
        ),
        (
            "/tags?",
            link("<?page=99999999999999999999999>; rel=\"next\""),
            "E5004 HOST gave an answer that makes no sense: its list of tags goes on nowhere",
        ),
        (
            "/tags?",
            link(&format!("<{}/repos/o/r/tags?page=2>; rel=\"next\"", other.url())),
            &format!(
                "E5004 HOST gave an answer that makes no sense: its list of tags goes on at another host, {host}"
            ),
        ),
        ("/tags?", Trick::Stall(Duration::from_secs(2)), "E5001 cannot reach HOST"),
    ];
    for (path, trick, expected) in rows {
        let world = World::with_a_thousand(false);
        world.github.play("/matching-refs/", unknown(), 9);
        let trick = match trick {
            Trick::Header(name, value) => {
                Trick::Header(name, value.replace("HOST", &world.github.url()[7..]))
            }
            trick => trick,
        };
        world.github.play(path, trick, 999);
        let token = Some(Secret::new("t0ken"));
        let settings = GithubSettings { silence: Duration::from_millis(300), token, ..world.settings() };
        let picture = world.picture("o/r@^1", &settings).await;
        assert!(picture.starts_with(expected), "{path}: {picture} is not {expected}");
        assert!(world.github.requests().len() < 20, "{path} {expected}");
    }
    assert!(other.requests().is_empty(), "a link leads nowhere but where we ask");
}

#[tokio::test]
async fn pages_without_an_end_come_to_one() {
    let world = World::with_a_thousand(false);
    world.github.play("/matching-refs/", Trick::Refuse(404, vec![], "Not Found"), 9);
    // Each page says that the same one follows.
    world.github.play("/tags?", Trick::Header("Link", "<?page=2>; rel=\"next\"".to_owned()), usize::MAX);
    let (picture, requests) = world.costs("o/r@^1", &world.settings()).await;
    assert_eq!((picture.as_str(), requests), ("*v1.99.9 2", 3));
}

#[tokio::test]
async fn a_private_repository_without_a_token_says_what_to_do() {
    let world = World::with(&[("v1.2.0", 12)]);
    world.github.require("o/r", "right");
    for text in ["o/r@^1", "o/r@latest"] {
        let error = world.pin(text, &world.settings()).await.expect_err("private");
        assert_eq!(error.code().as_str(), "E2001", "{text}");
        assert!(error.hints()[0].contains("GITHUB_TOKEN"), "{:?}", error.hints());
    }
    let settings = GithubSettings { token: Some(Secret::new("right")), ..world.settings() };
    assert_eq!(world.picture("o/r@^1", &settings).await, "*v1.2.0 12");
}
