//! Repositories of a GitHub on the loopback.

use std::fs;
use std::path::Path;
use std::time::Duration;

use abx_core::{Fault, Home, Secret, Silent};
use abx_source::{GithubSettings, Lineage, SourceContext, SourceError, fetch, resolve};
use abx_test::github::{LoopbackGithub, Trick, archive_of};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {image: debian}\n";

struct World {
    dir: tempfile::TempDir,
    github: LoopbackGithub,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("tempdir"), github: LoopbackGithub::start() }
    }

    /// With `o/r` that has one template.
    fn with_one() -> Self {
        let world = Self::new();
        world.github.put("o/r", "HEAD", ONE, &[("template.yaml", TEMPLATE), ("files/a", "a")]);
        world
    }

    fn home(&self) -> Home {
        Home::new(self.dir.path().join("home"))
    }

    fn settings(&self) -> GithubSettings {
        GithubSettings { api: self.github.url(), ..GithubSettings::default() }
    }

    async fn resolve(&self, text: &str, settings: &GithubSettings) -> Result<Lineage, SourceError> {
        let context = SourceContext::new(self.home(), self.dir.path().to_owned(), None);
        resolve(text, &fetch(text, &context, settings, &Silent).await?)
    }

    /// The names of the lineage, leaf first, or `CODE message`.
    async fn picture(&self, text: &str, settings: &GithubSettings) -> String {
        match self.resolve(text, settings).await {
            Ok(lineage) => lineage
                .packages
                .iter()
                .rev()
                .map(|package| package.display.clone())
                .collect::<Vec<_>>()
                .join(" < "),
            Err(error) => format!("{} {error}", error.code()).replace(&self.github.url()[7..], "HOST"),
        }
    }

    /// Whether anything that may be taken for a whole entry is in the store, or anything half-made is left.
    fn is_clean(&self) -> bool {
        let count = |part| {
            let walk = walkdir::WalkDir::new(self.home().store(part)).min_depth(1).into_iter().flatten();
            walk.filter(|entry| entry.file_type().is_dir() || entry.file_name() == "package.json").count()
        };
        count("packages") == 0 && count("staging") == 0
    }
}

#[tokio::test]
async fn every_form_of_reference_leads_to_its_package() {
    let world = World::with_one();
    let sub = [("t/template.yaml", TEMPLATE), ("u/v/template.yaml", TEMPLATE)];
    world.github.put("o/mono", "feature/x", TWO, &sub);
    world.github.put("o/mono", "HEAD", TWO, &sub);
    // One that has no word for its default branch.
    world.github.put("o/plain", "main", TWO, &[("template.yaml", TEMPLATE)]);
    for (text, expected) in [
        ("o/r", "o/r"),
        ("o/plain", "o/plain"),
        ("o/mono/t", "o/mono//t"),
        ("o/mono//u/v@feature/x", "o/mono//u/v@feature/x"),
        ("o/mono//none", "E2001 there is no directory `o/mono//none`"),
        ("o/mono", "E2001 there is no template.yaml in `o/mono`"),
        ("o/none", "E2001 there is no repository `o/none` on HOST"),
        ("o/r@none", "E2001 `o/r` has no branch, tag or commit `none`"),
        (&format!("o/r@{TWO}"), "E2001 `o/r` has no branch, tag or commit `"),
        ("o/r@^1.2", "E2006 `o/r` has no version in the range `^1.2`"),
    ] {
        let picture = world.picture(text, &world.settings()).await;
        assert!(picture.starts_with(expected), "{text}: {picture}");
    }
    let view = world.home().templates().join("o/mono/feature%2Fx/u/v/template.yaml");
    assert_eq!(fs::read_to_string(view).expect("the view"), TEMPLATE);
    assert_eq!(fs::read(world.home().templates().join("o/r/default/files/a")).expect("the view"), b"a");
}

#[tokio::test]
async fn the_time_of_a_commit_is_known_as_long_as_what_was_made_of_it() {
    let world = World::with_one();
    let child = "version: \"1\"\nmetadata: {name: child}\nbase: {from: ./parent}\n";
    let files = [("template.yaml", child), ("parent/template.yaml", TEMPLATE)];
    world.github.put_archive("o/timed", "HEAD", TWO, archive_of(1_700_000_000, "o-timed", &files));
    // The second time it is on disk.
    for _ in 0..2 {
        let lineage = world.resolve("o/timed", &world.settings()).await.expect("a lineage");
        let times: Vec<_> = lineage.packages.iter().map(|package| package.committed).collect();
        assert_eq!((times, lineage.committed()), (vec![Some(1_700_000_000); 2], Some(1_700_000_000)));
    }
    let lineage = world.resolve("o/timed", &world.settings()).await.expect("a lineage");
    abx_source::keep(&world.home(), "kept", "latest", &lineage).expect("kept");
    let kept = abx_source::kept::packages(&world.home(), "kept", "latest").expect("packages");
    assert_eq!(kept.last().expect("a package").committed, Some(1_700_000_000));

    let lineage = world.resolve("o/r", &world.settings()).await.expect("a lineage");
    assert_eq!(lineage.committed(), None, "an archive without times");
}

#[tokio::test]
async fn refusals_are_told_apart_and_leave_nothing() {
    let header = |name, value: &str| vec![(name, value.to_owned())];
    let limit =
        || vec![("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", "1900000000".to_owned())];
    let page = || Trick::Body(b"<html>log in</html>".to_vec());
    let rows = [
        (
            "/commits/",
            Trick::Refuse(401, vec![], "Bad credentials"),
            "E1010 HOST refused the token for `o/r`",
        ),
        ("/commits/", Trick::Refuse(403, vec![], "No"), "E5002 HOST forbids access to `o/r`: No"),
        (
            "/commits/",
            Trick::Refuse(403, limit(), "API rate limit exceeded"),
            "E5000 the hourly limit of requests to HOST is used up until 2030-03-17T17:46:40Z",
        ),
        (
            "/commits/",
            Trick::Refuse(429, limit(), ""),
            "E5000 the hourly limit of requests to HOST is used up until 2030-03-17T17:46:40Z",
        ),
        (
            "/commits/",
            Trick::Refuse(403, header("retry-after", "30"), ""),
            "E5003 HOST asks for fewer requests at a time",
        ),
        (
            "/commits/",
            Trick::Refuse(403, limit(), "You have exceeded a secondary rate limit"),
            "E5003 HOST asks for fewer requests at a time",
        ),
        ("/commits/", Trick::Refuse(429, vec![], ""), "E5003 HOST asks for fewer requests at a time"),
        (
            "/commits/",
            Trick::Refuse(409, vec![], "Git Repository is empty."),
            "E2001 `o/r` has no commit yet",
        ),
        ("/commits/", Trick::Refuse(502, vec![], "Oops"), "E5004 HOST failed with status 502: Oops"),
        ("/commits/", page(), "E5004 HOST gave an answer that makes no sense: it names no commit"),
        ("/commits/", Trick::Stall(Duration::from_secs(2)), "E5001 cannot reach HOST"),
        ("/tarball/", Trick::Refuse(404, vec![], "Not Found"), "E2001 there is no repository `o/r` on HOST"),
        ("/codeload/", Trick::Refuse(503, vec![], ""), "E5004 HOST failed with status 503"),
        ("/codeload/", Trick::CutAfter(40), "E5000 the transfer from HOST broke off"),
        ("/codeload/", page(), "E5020 cannot unpack `o/r` at 111111111111: what was sent is no gzip archive"),
        (
            "/codeload/",
            Trick::Body(vec![]),
            "E5020 cannot unpack `o/r` at 111111111111: the archive is damaged",
        ),
    ];
    for (path, trick, expected) in rows {
        let world = World::with_one();
        let token = Some(Secret::new("t0ken"));
        let settings = GithubSettings { silence: Duration::from_millis(300), token, ..world.settings() };
        world.github.play(path, trick, 9);
        assert_eq!(world.picture("o/r", &settings).await, expected);
        assert!(world.is_clean(), "after {expected}");
    }
    let world = World::with_one();
    let settings = GithubSettings { api: "http://127.0.0.1:1".into(), ..world.settings() };
    assert_eq!(world.picture("o/r", &settings).await, "E5001 cannot reach 127.0.0.1:1");
}

#[tokio::test]
async fn a_token_opens_a_private_repository_and_is_in_no_message() {
    let world = World::with_one();
    world.github.require("o/r", "right");
    let with = |token: &str| GithubSettings { token: Some(Secret::new(token)), ..world.settings() };
    let error = world.resolve("o/r", &world.settings()).await.expect_err("private");
    assert_eq!(error.code().as_str(), "E2001");
    assert!(error.hints()[0].contains("GITHUB_TOKEN"), "{:?}", error.hints());
    let error = world.resolve("o/r", &with("wr0ng")).await.expect_err("refused");
    assert_eq!(error.code().as_str(), "E1010");
    assert!(!format!("{error:?} {error} {:?}", error.hints()).contains("wr0ng"));
    assert!(
        world.picture("o/r", &with("b\u{e4}d")).await.starts_with("E1010 the token for GitHub has letters")
    );
    assert_eq!(world.picture("o/r", &with("right\n")).await, "o/r");
}

#[tokio::test]
async fn a_redirect_to_another_host_carries_no_token() {
    let world = World::with_one();
    let other = LoopbackGithub::start();
    other.put("o/r", "HEAD", ONE, &[("template.yaml", TEMPLATE)]);
    world.github.play("/codeload/", Trick::Redirect(other.url()), 1);
    let settings = GithubSettings { token: Some(Secret::new("t0ken")), ..world.settings() };
    assert_eq!(world.picture("o/r", &settings).await, "o/r");
    assert!(world.github.requests().iter().all(|request| request.header("authorization").is_some()));
    assert_eq!(other.requests().len(), 1);
    assert!(other.requests().iter().all(|request| request.header("authorization").is_none()));
    // In a circle.
    world.github.play("/commits/", Trick::Redirect(world.github.url()), 99);
    let settings = GithubSettings { no_cache: true, ..settings };
    assert_eq!(world.picture("o/r", &settings).await, "E5000 HOST redirects in a circle");
}

#[tokio::test]
async fn what_is_known_is_believed_for_a_while_and_then_asked_for_again() {
    let world = World::with_one();
    let (fresh, stale) = (world.settings(), GithubSettings { cache_ttl: Duration::ZERO, ..world.settings() });
    let asked =
        |world: &World| (world.github.asked("/commits/").len(), world.github.asked("/codeload/").len());
    world.resolve("o/r", &fresh).await.expect("fetched");
    world.resolve("o/r", &fresh).await.expect("known");
    assert_eq!(asked(&world), (1, 1));
    world.resolve("o/r", &stale).await.expect("the same");
    assert_eq!(asked(&world), (2, 1), "an unchanged branch is not fetched again");
    world.github.put("o/r", "HEAD", TWO, &[("template.yaml", &TEMPLATE.replace("hello", "moved"))]);
    let lineage = world.resolve("o/r", &stale).await.expect("moved");
    assert_eq!((lineage.packages[0].name.as_str(), asked(&world)), ("moved", (3, 2)));
    world.resolve(&format!("o/r@{ONE}"), &stale).await.expect("a commit");
    assert_eq!(asked(&world), (3, 2), "a commit that is here needs no question");
    world.resolve("o/r", &GithubSettings { no_cache: true, ..world.settings() }).await.expect("anew");
    assert_eq!(asked(&world), (4, 3));
}

#[tokio::test]
async fn offline_takes_what_is_here_and_asks_nobody() {
    let world = World::with_one();
    let offline = GithubSettings { offline: true, cache_ttl: Duration::ZERO, ..world.settings() };
    let missing = "E5005 `o/r` is not in the cache, and --offline keeps to this machine";
    assert_eq!(world.picture("o/r", &offline).await, missing);
    assert!(world.github.requests().is_empty());
    world.resolve("o/r", &world.settings()).await.expect("fetched");
    let before = world.github.requests().len();
    assert_eq!(world.picture("o/r", &offline).await, "o/r");
    assert_eq!(world.picture(&format!("o/r@{ONE}"), &offline).await, format!("o/r@{ONE}"));
    assert_eq!(world.github.requests().len(), before);
}

#[tokio::test]
async fn an_entry_without_its_mark_is_fetched_again() {
    let world = World::with_one();
    world.resolve("o/r", &world.settings()).await.expect("fetched");
    let entry = fs::canonicalize(world.home().templates().join("o/r/default")).expect("the tree");
    fs::remove_file(entry.parent().expect("the entry").join("package.json")).expect("the mark");
    fs::write(entry.join("template.yaml"), "half").expect("damage");
    assert_eq!(world.picture("o/r", &world.settings()).await, "o/r");
    assert_eq!(world.github.asked("/codeload/").len(), 2);
    assert_eq!(world.home().store("staging").read_dir().expect("staging").count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_ask_and_fetch_once() {
    let world = std::sync::Arc::new(World::with_one());
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let world = std::sync::Arc::clone(&world);
            tokio::spawn(async move { world.picture("o/r", &world.settings()).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.expect("no panic"), "o/r");
    }
    assert_eq!((world.github.asked("/commits/").len(), world.github.asked("/codeload/").len()), (1, 1));
}

#[tokio::test]
async fn templates_inherit_across_repositories_and_reach_nothing_of_this_machine() {
    let world = World::new();
    let from = |name: &str, base: &str| {
        format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {{from: \"{base}\"}}\n")
    };
    let (child, near, far) =
        (from("child", "p/q//base@v1"), from("near", "../base"), from("far", "../../base"));
    let absolute = from("absolute", world.dir.path().join("base").to_str().expect("text"));
    world.github.put("p/q", "v1", ONE, &[("base/template.yaml", TEMPLATE)]);
    world.github.put(
        "o/r",
        "HEAD",
        TWO,
        &[
            ("child/template.yaml", &child),
            ("near/template.yaml", &near),
            ("far/template.yaml", &far),
            ("absolute/template.yaml", &absolute),
            ("base/template.yaml", TEMPLATE),
        ],
    );
    write(&world.dir.path().join("local/template.yaml"), &child);
    write(&world.dir.path().join("base/template.yaml"), TEMPLATE);
    for (text, expected) in [
        ("o/r//child", "o/r//child < p/q//base@v1"),
        ("./local", "./local < p/q//base@v1"),
        ("o/r//near", "o/r//near < base of o/r//near"),
        ("o/r//far", "E2004 `../../base` leads out of the repository or archive of `o/r//far`"),
        ("o/r//absolute", "E2004 "),
    ] {
        let picture = world.picture(text, &world.settings()).await;
        assert!(picture.starts_with(expected), "{text}: {picture}");
    }
    write(&world.dir.path().join("lost/template.yaml"), &from("lost", "p/none"));
    let error = world.resolve("./lost", &world.settings()).await.expect_err("no such parent");
    assert_eq!((error.code().as_str(), error.snippets()[0].line), ("E2001", 3));
}

#[tokio::test]
async fn a_folder_of_the_same_name_is_pointed_out() {
    let world = World::new();
    write(&world.dir.path().join("own/thing/template.yaml"), TEMPLATE);
    let error = world.resolve("own/thing", &world.settings()).await.expect_err("not there");
    assert_eq!(error.hints()[0], "there is a directory of that name here: write `./own/thing`");
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
    fs::write(path, text).expect("write");
}
