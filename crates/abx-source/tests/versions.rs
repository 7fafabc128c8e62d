//! Ranges and `latest` over the tags of repositories on the loopback.

use std::time::Duration;

use abx_core::{Fault, Home, Secret, Silent};
use abx_reference::{Github, Reference};
use abx_source::github::{Pinned, pin};
use abx_source::{GithubError, GithubSettings, SourceContext, SourceError, fetch, resolve};
use abx_test::github::{LoopbackGithub, Trick};

struct World {
    dir: tempfile::TempDir,
    github: LoopbackGithub,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("tempdir"), github: LoopbackGithub::start() }
    }

    /// With `o/r` that has these tags, the default branch being commit 1.
    fn with(tags: &[(&str, u32)]) -> Self {
        let world = Self::new();
        world.publish("HEAD", 1, "hello");
        for (name, number) in tags {
            world.publish(name, *number, "hello");
            world.github.tag("o/r", name, &commit(*number), false);
        }
        world
    }

    /// With a thousand tags `v1.0.0` to `v1.99.9`, of which the last is commit 2.
    fn with_a_thousand(is_annotated: bool) -> Self {
        let world = Self::with(&[]);
        world.publish("v1.99.9", 2, "hello");
        for number in 0..1000 {
            let name = format!("v1.{}.{}", number / 10, number % 10);
            let number = if number == 999 { 2 } else { 1000 + number };
            world.github.tag("o/r", &name, &commit(number), is_annotated);
        }
        world
    }

    fn publish(&self, git_ref: &str, number: u32, name: &str) {
        self.github.put(
            "o/r",
            git_ref,
            &commit(number),
            &[("template.yaml", &template(name, "image: debian"))],
        );
    }

    fn home(&self) -> Home {
        Home::new(self.dir.path().join("home"))
    }

    fn settings(&self) -> GithubSettings {
        GithubSettings { api: self.github.url(), ..GithubSettings::default() }
    }

    fn stale(&self) -> GithubSettings {
        GithubSettings { cache_ttl: Duration::ZERO, ..self.settings() }
    }

    async fn pin(&self, text: &str, settings: &GithubSettings) -> Result<Pinned, GithubError> {
        pin(&github(text), &self.home(), settings).await
    }

    /// `NAME COMMIT`, or `CODE message`.
    async fn picture(&self, text: &str, settings: &GithubSettings) -> String {
        match self.pin(text, settings).await {
            Ok(pinned) => format!(
                "{}{} {}",
                if pinned.is_chosen { "*" } else { "" },
                pinned.name.as_deref().unwrap_or("default"),
                pinned.commit.trim_start_matches('0')
            ),
            Err(error) => {
                let said = format!("{} {error}", error.code());
                said.replace(&self.github.url()[7..], "HOST")
            }
        }
    }

    /// As `picture`, with what it costs in requests.
    async fn costs(&self, text: &str, settings: &GithubSettings) -> (String, usize) {
        let before = self.github.requests().len();
        (self.picture(text, settings).await, self.github.requests().len() - before)
    }

    /// Fetches and resolves; the lineage as `name@commit`, leaf first.
    async fn lineage(&self, text: &str, settings: &GithubSettings) -> Result<Vec<String>, SourceError> {
        let context = SourceContext::new(self.home(), self.dir.path().to_owned(), None);
        let lineage = resolve(text, &fetch(text, &context, settings, &Silent).await?)?;
        Ok(lineage.packages.iter().rev().map(|package| package.display.clone()).collect())
    }
}

fn commit(number: u32) -> String {
    format!("{number:040}")
}

fn template(name: &str, base: &str) -> String {
    format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {{{base}}}\n")
}

fn github(text: &str) -> Github {
    match Reference::parse(text) {
        Ok(Reference::Github(github)) => github,
        other => panic!("{text} is {other:?}"),
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
async fn a_server_without_the_question_for_all_is_asked_for_its_pages() {
    let world = World::with_a_thousand(true);
    world.github.play("/matching-refs/", Trick::Refuse(404, vec![], "Not Found"), usize::MAX);
    assert_eq!(world.costs("o/r@^1", &world.settings()).await, ("*v1.99.9 2".to_owned(), 11));
    let pages = world.github.asked("/tags?per_page=100");
    assert_eq!(pages.len(), 10, "{pages:?}");
    assert_eq!(world.costs("o/r@~1.5", &world.settings()).await, ("*v1.5.9 1059".to_owned(), 0));
}

#[tokio::test]
async fn latest_is_a_literal_name_then_the_highest_release_then_the_default_branch() {
    let world = World::with(&[("v1.2.0", 12), ("v2.0.0-rc.1", 20)]);
    // The name, then the tags.
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("*v1.2.0 12".to_owned(), 2));
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("*v1.2.0 12".to_owned(), 0));
    world.publish("latest", 7, "hello");
    assert_eq!(world.costs("o/r@latest", &world.stale()).await, ("latest 7".to_owned(), 1));
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("latest 7".to_owned(), 0));
    world.github.remove("o/r", "latest");
    assert_eq!(world.picture("o/r@latest", &world.stale()).await, "*v1.2.0 12");
    for name in ["v1.2.0", "v2.0.0-rc.1"] {
        world.github.remove("o/r", name);
    }
    assert_eq!(world.picture("o/r@latest", &world.stale()).await, "default 1");
    assert_eq!(world.costs("o/r@latest", &world.settings()).await, ("default 1".to_owned(), 0));
    let offline = GithubSettings { offline: true, ..world.settings() };
    assert_eq!(world.costs("o/r@latest", &offline).await, ("default 1".to_owned(), 0));
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
