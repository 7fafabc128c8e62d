//! A list of tags is believed for a while, asked about with its tag, and used offline.

use abx_core::Fault;
use abx_source::{GithubSettings, forget_absent};

use crate::world::{World, commit};

#[tokio::test]
async fn a_full_page_is_no_proof_that_nothing_was_added() {
    let world = World::with(&[]);
    for number in 0..100 {
        world.github.tag("o/r", &format!("v2.0.{number}"), &commit(number), false);
    }
    assert_eq!(world.picture("o/r@^2", &world.settings()).await, "*v2.0.99 99");
    // The new one is on a second page, the first is as it was.
    world.github.tag("o/r", "v1.0.0", &commit(7), false);
    assert_eq!(world.picture("o/r@^1", &world.stale()).await, "*v1.0.0 7");
}

#[tokio::test]
async fn a_list_that_makes_no_sense_is_none() {
    let world = World::with(&[("v1.2.0", 12)]);
    world.picture("o/r@^1", &world.settings()).await;
    let host = world.github.url()[7..].replace(':', "%3A");
    let list = world.home().store("pins").join(host).join("o/r/%tags.json");
    let text = std::fs::read_to_string(&list).expect("the list");
    for damage in ["", "{", "[]", &text.replace(&commit(12), "../../../x"), &text[..text.len() / 2]] {
        std::fs::write(&list, damage).expect("damage");
        assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.2.0 12".to_owned(), 1), "{damage}");
    }
}

#[tokio::test]
async fn an_old_list_is_asked_about_with_its_tag() {
    let world = World::with(&[("v1.2.0", 12)]);
    world.picture("o/r@^1", &world.settings()).await;
    assert_eq!(world.costs("o/r@^1", &world.stale()).await, ("*v1.2.0 12".to_owned(), 1));
    let last = world.github.requests().pop().expect("a request");
    assert!(last.header("if-none-match").is_some(), "{last:?}");
    // A tag that was moved.
    world.github.tag("o/r", "v1.2.0", &commit(99), false);
    assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.2.0 12".to_owned(), 0));
    assert_eq!(world.costs("o/r@^1", &world.stale()).await, ("*v1.2.0 99".to_owned(), 1));
    // One that was deleted.
    world.github.remove("o/r", "v1.2.0");
    let (picture, _) = world.costs("o/r@^1", &world.stale()).await;
    assert!(picture.starts_with("E2006 "), "{picture}");
    let anew = GithubSettings { no_cache: true, ..world.settings() };
    world.picture("o/r@^1", &anew).await;
    let last = world.github.requests().pop().expect("a request");
    assert_eq!(last.header("if-none-match"), None);
}

#[tokio::test]
async fn the_list_is_kept_while_the_repository_is() {
    let world = World::with(&[("v1.2.0", 12)]);
    world.lineage("o/r@^1", &world.settings()).await.expect("fetched");
    let offline = GithubSettings { offline: true, ..world.stale() };
    forget_absent(&world.home()).expect("nothing is absent");
    assert_eq!(world.picture("o/r@^1", &offline).await, "*v1.2.0 12");
    std::fs::remove_dir_all(world.home().store("packages")).expect("remove");
    forget_absent(&world.home()).expect("all is");
    assert!(world.picture("o/r@^1", &offline).await.starts_with("E5005 "));
    assert!(
        !world.home().store("pins").exists()
            || world.home().store("pins").read_dir().expect("pins").next().is_none()
    );
}

#[tokio::test]
async fn offline_a_range_is_the_highest_version_that_is_here() {
    let world = World::with(&[("v1.2.0", 12), ("v1.3.0", 13)]);
    let offline = GithubSettings { offline: true, ..world.stale() };
    let missing = "E5005 `o/r@^1` is not in the cache, and --offline keeps to this machine";
    assert_eq!(world.picture("o/r@^1", &offline).await, missing);
    world.lineage("o/r@~1.2", &world.settings()).await.expect("fetched");
    assert_eq!(world.costs("o/r@^1", &offline).await, ("*v1.2.0 12".to_owned(), 0));
    assert_eq!(world.lineage("o/r@^1", &offline).await.expect("here"), ["o/r@^1"]);
    assert_eq!(world.picture("o/r@v1.2.0", &offline).await, "v1.2.0 12");
    let error = world.pin("o/r@^2", &offline).await.expect_err("not here");
    assert_eq!(error.code().as_str(), "E5005");
    assert_eq!(error.hints(), ["what is here is `v1.2.0`", "run once without --offline"]);
    // No list was ever asked for.
    let world = World::with(&[("v1.2.0", 12), ("v1.3.0", 13), ("web/v1.1.0", 11)]);
    for name in ["v1.2.0", "web/v1.1.0", "HEAD"] {
        world.lineage(&format!("o/r@{name}"), &world.settings()).await.expect("fetched");
    }
    let offline = GithubSettings { offline: true, ..world.settings() };
    assert_eq!(world.costs("o/r@^1", &offline).await, ("*v1.2.0 12".to_owned(), 0));
    assert_eq!(world.costs("o/r//web@^1", &offline).await, ("*web/v1.1.0 11".to_owned(), 0));
    assert_eq!(world.costs("o/r@latest", &offline).await, ("*v1.2.0 12".to_owned(), 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_ask_once() {
    let world = std::sync::Arc::new(World::with(&[("v1.2.0", 12)]));
    let tasks: Vec<_> = (0..16)
        .map(|number| {
            let world = std::sync::Arc::clone(&world);
            let text = ["o/r@^1", "o/r@~1.2", "o/r@latest", "o/r//sub@^1"][number % 4];
            tokio::spawn(async move { world.picture(text, &world.settings()).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.expect("no panic"), "*v1.2.0 12");
    }
    assert_eq!(world.github.asked("/tags").len(), 1);
    assert_eq!(world.github.asked("/commits/latest").len(), 1);
}
