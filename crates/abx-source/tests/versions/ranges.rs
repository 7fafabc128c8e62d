//! What a range comes to, and what is said of it.

use std::sync::Mutex;

use abx_core::{Event, Fault, Progress};
use abx_source::github::checkout;

use crate::world::{World, commit, github, template};

/// Keeps what users are told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn event(&self, event: Event) {
        if let Event::Note(note) = event {
            self.0.lock().expect("no panic").push(note);
        }
    }
}

#[tokio::test]
async fn a_range_is_the_highest_tag_in_it_and_one_list_serves_all_ranges() {
    let world = World::with(&[("v1.2.0", 12), ("v1.3.0", 13), ("2.0.0", 20), ("v3.0.0-rc.1", 30)]);
    let (settings, none) = (world.settings(), 0);
    for (text, expected, requests) in [
        ("o/r@^1.2", "*v1.3.0 13", 1),
        ("o/r@~1.2", "*v1.2.0 12", none),
        ("o/r@>=1, <9", "*2.0.0 20", none),
        ("O/R@^3.0.0-rc.1", "*v3.0.0-rc.1 30", none),
        // The tag that was chosen is known by its name now.
        ("o/r@v1.3.0", "v1.3.0 13", none),
        // What is not there may have been published a moment ago.
        ("o/r@^4", "E2006 `o/r` has no version in the range `^4`", 1),
    ] {
        assert_eq!(world.costs(text, &settings).await, (expected.to_owned(), requests), "{text}");
    }
    let error = world.pin("o/r@^3", &settings).await.expect_err("a pre-release");
    assert_eq!(
        error.hints(),
        ["the nearest are `2.0.0`, `v1.3.0`, `v1.2.0`", "a pre-release has to be named: `o/r@v3.0.0-rc.1`"]
    );
    world.publish("v4.0.0", 40, "hello");
    world.github.tag("o/r", "v4.0.0", &commit(40), false);
    assert_eq!(world.picture("o/r@^4", &settings).await, "*v4.0.0 40");
}

#[tokio::test]
async fn two_directories_of_one_repository_have_versions_of_their_own() {
    let world = World::new();
    let web = template("web", "from: \"o/mono//api@^1\"");
    let files = [("api/template.yaml", template("api", "image: debian")), ("web/template.yaml", web)];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    world.github.put("o/mono", "HEAD", &commit(1), &files);
    for (name, number) in [("web-v1.0.0", 10), ("api/v1.4.0", 14), ("api/v1.3.0", 13), ("v1.9.9", 99)] {
        world.github.put("o/mono", name, &commit(number), &files);
        world.github.tag("o/mono", name, &commit(number), false);
    }
    let settings = world.settings();
    let lineage = world.lineage("o/mono//web@^1", &settings).await.expect("resolved");
    assert_eq!(lineage, ["o/mono//web@^1", "o/mono//api@^1"]);
    assert_eq!(world.picture("o/mono//web@^1", &settings).await, "*web-v1.0.0 10");
    assert_eq!(world.picture("o/mono//api@^1", &settings).await, "*api/v1.4.0 14");
    assert_eq!(world.picture("o/mono@^1", &settings).await, "*v1.9.9 99");
    assert_eq!(world.picture("o/mono//api@latest", &settings).await, "*api/v1.4.0 14");
    assert_eq!(world.picture("o/mono//web@latest", &settings).await, "*web-v1.0.0 10");
    assert_eq!(world.github.asked("/tags").len(), 1, "one list serves them all");
    let view = |name: &str| world.home().templates().join("o/mono").join(name).join("web/template.yaml");
    assert!(view("web-v1.0.0").is_file() && view("api%2Fv1.4.0").is_file());
}

#[tokio::test]
async fn what_was_chosen_is_told_when_it_is_found_out() {
    let world = World::with(&[("v1.2.0", 12)]);
    world.github.put(
        "o/plain",
        "HEAD",
        &commit(1),
        &[("template.yaml", &template("plain", "image: debian"))],
    );
    let (notes, settings) = (Notes::default(), world.settings());
    for text in ["o/r@^1.2", "o/r@^1.2", "o/plain@latest", "o/r@v1.2.0", "o/r"] {
        checkout(&github(text), &world.home(), &settings, &notes).await.expect(text);
    }
    let notes = notes.0.into_inner().expect("no panic");
    assert_eq!(
        notes,
        ["o/r@^1.2 is v1.2.0", "o/plain@latest is the default branch, since there is no release"]
    );
}

#[tokio::test]
async fn a_version_that_is_no_tag_is_led_to_its_range() {
    let world = World::with(&[("v1.2.0", 12), ("v1.2.1", 13)]);
    for (name, expected) in [
        ("1.2.0", "`@=1.2.0` looks for that version among the tags, however they are written"),
        ("v1.2", "`@~1.2` looks for that version among the tags, however they are written"),
        ("main", "`o/r` alone means its default branch"),
        ("v1-x", "`o/r` alone means its default branch"),
    ] {
        let error = world.pin(&format!("o/r@{name}"), &world.settings()).await.expect_err(name);
        assert_eq!((error.code().as_str(), error.hints()), ("E2001", vec![expected.to_owned()]));
    }
    assert_eq!(world.picture("o/r@=1.2.0", &world.settings()).await, "*v1.2.0 12");
    assert_eq!(world.picture("o/r@~1.2", &world.settings()).await, "*v1.2.1 13");
}

#[tokio::test]
async fn a_tag_that_was_chosen_is_known_by_its_name() {
    let world = World::with(&[("v1.2.0", 12), ("v1.3.0", 13)]);
    for (range, name) in [("o/r@~1.2", "v1.2.0"), ("o/r@^1", "v1.3.0")] {
        world.lineage(range, &world.settings()).await.expect(range);
        let before = world.github.requests().len();
        world.lineage(&format!("o/r@{name}"), &world.settings()).await.expect(name);
        assert_eq!(world.github.requests().len(), before, "{name}");
    }
}

#[tokio::test]
async fn a_branch_with_a_slash_in_a_copied_address_is_named() {
    let world = World::with(&[]);
    world.publish("feature/x", 5, "hello");
    let text = "https://github.com/o/r/tree/feature/x/sub";
    let error = world.pin(text, &world.settings()).await.expect_err("ambiguous");
    assert_eq!(error.to_string(), "`o/r` has no branch, tag or commit `feature`");
    assert_eq!(error.hints(), ["there is a branch or tag `feature/x`: write `o/r//sub@feature/x`"]);
    assert_eq!(world.github.requests().len(), 3);
    // One that can be told apart needs no word.
    world.publish("feature", 6, "hello");
    assert_eq!(world.picture(text, &world.settings()).await, "feature 6");
}
