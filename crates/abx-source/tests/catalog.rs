//! The index of templates from hosts that work and hosts that do not, and what names lead to through it.

use std::fs;

use abx_core::{Event, Fault, Home, Progress, Secret, Silent};
use abx_source::{Catalog, CatalogError, GithubSettings, SourceContext, catalog, fetch, resolve};
use abx_test::github::LoopbackGithub;
use abx_test::index::{LoopbackIndex, Trick};

const INDEX: &str = "templates:\n  - {name: hello, repo: o/r, path: t}\n";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: other}\nbase: {image: debian}\n";
const COMMIT: &str = "1111111111111111111111111111111111111111";

struct World {
    dir: tempfile::TempDir,
    host: LoopbackIndex,
    github: LoopbackGithub,
}

/// What was said on the way.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<String>>);

impl Progress for Heard {
    fn event(&self, event: Event) {
        if let Event::Warning(text) | Event::Note(text) = event {
            self.0.lock().expect("lock").push(text);
        }
    }
}

impl World {
    fn new() -> Self {
        let (host, github) = (LoopbackIndex::start(INDEX), LoopbackGithub::start());
        Self { dir: tempfile::tempdir().expect("tempdir"), host, github }
    }

    fn context(&self) -> SourceContext {
        let home = Home::new(self.dir.path().join("home"));
        let context = SourceContext::new(home, self.dir.path().to_owned(), None);
        SourceContext { index: self.host.url(), ..context }
    }

    fn settings(&self) -> GithubSettings {
        GithubSettings {
            api: self.github.url(),
            token: Some(Secret::new("secret")),
            silence: std::time::Duration::from_millis(500),
            ..GithubSettings::default()
        }
    }

    async fn catalog(&self, refresh: bool) -> Result<Catalog, CatalogError> {
        catalog(&self.context(), refresh, &self.settings(), &Silent).await
    }

    /// Makes every copy so many seconds older.
    fn age(&self, seconds: u64) {
        for entry in fs::read_dir(self.dir.path().join("home/store/index")).expect("copies") {
            let path = entry.expect("entry").path();
            let text = fs::read_to_string(&path).expect("copy");
            let mut copy: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let fetched = copy["fetched"].as_u64().expect("a number");
            copy["fetched"] = (fetched - seconds).into();
            fs::write(&path, copy.to_string()).expect("write");
        }
    }

    /// The lineage leaf first, or `CODE message`.
    async fn picture(&self, text: &str, context: &SourceContext, settings: &GithubSettings) -> String {
        let lineage = match fetch(text, context, settings, &Silent).await {
            Ok(context) => resolve(text, &context),
            Err(error) => Err(error),
        };
        match lineage {
            Ok(lineage) => {
                let names: Vec<&str> =
                    lineage.packages.iter().rev().map(|package| package.display.as_str()).collect();
                names.join(" < ")
            }
            Err(error) => format!("{} {error}", error.code()),
        }
    }
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.index.listings.iter().map(|listing| listing.name.as_str()).collect()
}

#[tokio::test]
async fn a_copy_is_believed_for_an_hour_and_revalidated_after() {
    let world = World::new();
    assert_eq!(names(&world.catalog(false).await.expect("new")), ["hello"]);
    world.host.put("templates: [{name: second, repo: o/r}]");
    assert_eq!(names(&world.catalog(false).await.expect("fresh")), ["hello"]);
    assert_eq!(world.host.requests().len(), 1, "a fresh copy asks nobody");
    assert_eq!(names(&world.catalog(true).await.expect("refreshed")), ["second"]);
    world.age(3601);
    assert_eq!(names(&world.catalog(false).await.expect("revalidated")), ["second"]);
    let last = world.host.requests().pop().expect("a request");
    assert_eq!(last.header("if-none-match"), Some(&"\"2\"".to_owned()));
    assert_eq!(last.header("authorization"), None, "no token for the host of an index");
    world.catalog(false).await.expect("fresh again");
    assert_eq!(world.host.requests().len(), 3, "an answer of 304 makes the copy fresh");
}

#[tokio::test]
async fn a_copy_belongs_to_its_address() {
    let world = World::new();
    world.catalog(false).await.expect("the first");
    let other = LoopbackIndex::start("templates: []");
    let context = SourceContext { index: other.url(), ..world.context() };
    let found = catalog(&context, false, &world.settings(), &Silent).await.expect("the other");
    assert_eq!(names(&found), [""; 0]);
    let offline = GithubSettings { offline: true, ..world.settings() };
    let context = SourceContext { index: format!("{}?x", other.url()), ..world.context() };
    let error = catalog(&context, false, &offline, &Silent).await.expect_err("never asked");
    assert_eq!(error.code().as_str(), "E5005");
    assert!(!error.to_string().contains('?'), "{error}");
}

#[tokio::test]
async fn the_token_goes_to_the_api_alone() {
    let world = World::new();
    let settings = GithubSettings { api: world.host.url().replace("/index.yaml", ""), ..world.settings() };
    catalog(&world.context(), false, &settings, &Silent).await.expect("the API has it");
    assert_eq!(world.host.requests()[0].header("authorization"), Some(&"Bearer secret".to_owned()));
    let other = LoopbackIndex::start(INDEX);
    world.host.play(Trick::Redirect(other.url().replace("/index.yaml", "")), 1);
    catalog(&world.context(), true, &settings, &Silent).await.expect("elsewhere");
    assert_eq!(other.requests()[0].header("authorization"), None, "not behind a redirect");
}

#[tokio::test]
async fn failures_are_told_apart_and_a_copy_helps_where_they_pass() {
    let header = |name, value: &str| vec![(name, value.to_owned())];
    let limit = || [header("x-ratelimit-remaining", "0"), header("x-ratelimit-reset", "1900000000")].concat();
    for (trick, code, message, is_passing) in [
        (Trick::Refuse(404, vec![], ""), "E5000", "there is no template index at", true),
        (Trick::Refuse(403, vec![], ""), "E5000", "refuses the template index with status 403", true),
        (Trick::Refuse(403, limit(), ""), "E5000", "until 2030-03-17T17:46:40Z", true),
        (Trick::Refuse(429, vec![], ""), "E5000", "allows no more requests", true),
        (Trick::Refuse(410, vec![], ""), "E5000", "refuses the template index with status 410", false),
        (Trick::Refuse(503, vec![], ""), "E5004", "failed with status 503", true),
        (Trick::CutAfter(9), "E5000", "broke off", true),
        (Trick::Stall(std::time::Duration::from_secs(2)), "E5001", "cannot reach", true),
        (Trick::Body(b"<html>log in</html>".to_vec()), "E2004", "an index is a map", false),
        (Trick::Body(b"schema_version: 9\ntemplates: []".to_vec()), "E2004", "needs a newer abx", false),
        (Trick::Body(vec![b' '; 9 << 20]), "E4003", "has more than 8388608 bytes", false),
        (Trick::Body(vec![0xff, 0xfe]), "E2004", "is no UTF-8 text", false),
        (Trick::Redirect("file:///etc".into()), "E5000", "which is not as safe", false),
    ] {
        let world = World::new();
        world.host.play(trick.clone(), 1);
        let error = world.catalog(false).await.expect_err("no copy");
        assert_eq!(error.code().as_str(), code, "{trick:?}: {error}");
        assert!(error.to_string().contains(message), "{trick:?}: {error}");
        world.catalog(false).await.expect("the host works");
        world.host.put(INDEX);
        world.host.play(trick.clone(), 1);
        world.age(7200);
        let heard = Heard::default();
        let found = catalog(&world.context(), false, &world.settings(), &heard).await;
        let heard = heard.0.into_inner().expect("lock");
        match is_passing {
            true => {
                assert_eq!(names(&found.expect("the copy")), ["hello"]);
                assert!(heard[0].ends_with("; using the copy of 2h ago"), "{heard:?}");
            }
            false => assert_eq!((found.expect_err("no help").code().as_str(), heard.len()), (code, 0)),
        }
        let later = world.catalog(false).await.expect("the copy is as it was");
        assert_eq!(names(&later), ["hello"], "{trick:?}");
    }
}

#[tokio::test]
async fn files_are_read_anew_each_time() {
    let world = World::new();
    let context = |index: &str| SourceContext { index: index.to_owned(), ..world.context() };
    let read = async |index: &str| catalog(&context(index), false, &world.settings(), &Silent).await;
    let path = world.dir.path().join("i.yaml");
    fs::write(&path, INDEX).expect("write");
    for index in ["i.yaml", "./i.yaml", "file:i.yaml", path.to_str().expect("text")] {
        assert_eq!(names(&read(index).await.expect(index)), ["hello"]);
    }
    fs::write(&path, "templates: []").expect("write");
    assert_eq!(names(&read("i.yaml").await.expect("read")), [""; 0]);
    fs::write(&path, "templates: [{name: a}]").expect("write");
    let error = read("i.yaml").await.expect_err("invalid");
    assert_eq!((error.code().as_str(), error.snippets()[0].file.as_str()), ("E2004", "i.yaml"));
    assert_eq!(read("none.yaml").await.expect_err("missing").code().as_str(), "E4001");
    assert_eq!(read(".").await.expect_err("a directory").code().as_str(), "E4000");
    assert!(world.host.requests().is_empty());
}

#[tokio::test]
async fn a_name_of_the_catalog_leads_to_its_package() {
    let world = World::new();
    world.github.put("o/r", "HEAD", COMMIT, &[("t/template.yaml", TEMPLATE)]);
    world.github.put("o/r", "v2", COMMIT, &[("t/template.yaml", TEMPLATE)]);
    world.host.put(
        "templates:\n- {name: hello, repo: o/r, path: t}\n- {name: base, repo: o/none}\n- {name: fixed, repo: o/r, path: t, ref: v2}\n",
    );
    let (context, settings) = (world.context(), world.settings());
    for (text, expected) in [
        ("hello", "o/r//t"),
        ("HELLO", "o/r//t"),
        ("hello:v2", "E2006"),
        ("hello:HEAD", "o/r//t@HEAD"),
        ("fixed", "o/r//t@v2"),
        ("base", "base"),
        ("helo", "E2001 there is no template called `helo`"),
    ] {
        let picture = world.picture(text, &context, &settings).await;
        assert!(picture.starts_with(expected), "{text}: {picture}");
    }
    assert_eq!(world.host.requests().len(), 1, "one index for all of them");
    let offline = GithubSettings { offline: true, ..settings };
    assert_eq!(world.picture("hello", &context, &offline).await, "o/r//t");
}

#[tokio::test]
async fn an_unknown_name_says_why_the_catalog_could_not_be_asked() {
    let world = World::new();
    let settings = GithubSettings { offline: true, ..world.settings() };
    let context = fetch("pyton-base", &world.context(), &settings, &Silent).await.expect("left to resolving");
    let error = resolve("pyton-base", &context).expect_err("unknown");
    assert_eq!(error.code().as_str(), "E2001");
    let hints = error.hints();
    assert_eq!(hints[0], "did you mean `python-base`?");
    assert!(
        hints[1].starts_with("the catalog could not be asked for it: the template index http"),
        "{hints:?}"
    );
    fetch("base", &world.context(), &world.settings(), &Silent).await.expect("built-in");
    fetch("o/none", &world.context(), &world.settings(), &Silent).await.expect_err("no repository");
    assert!(world.host.requests().is_empty(), "only a name that is unknown else asks the catalog");
}

#[tokio::test]
async fn circles_through_the_catalog_and_github_are_drawn() {
    let world = World::new();
    let template = |name: &str, parent: &str| {
        format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {{from: \"{parent}\"}}\n")
    };
    world.host.put("templates: [{name: one, repo: o/one}, {name: two, repo: o/two, path: t}]");
    world.github.put("o/one", "HEAD", COMMIT, &[("template.yaml", &template("one", "two"))]);
    world.github.put("o/two", "HEAD", COMMIT, &[("t/template.yaml", &template("two", "o/one"))]);
    let picture = world.picture("one", &world.context(), &world.settings()).await;
    assert_eq!(picture, "E2007 templates inherit from each other in a circle: o/one → o/two//t → o/one");
}

#[tokio::test]
async fn an_index_is_read_where_no_copy_can_be_kept() {
    let world = World::new();
    fs::write(world.dir.path().join("home"), "a file where the folder should be").expect("write");
    let heard = Heard::default();
    let found = catalog(&world.context(), false, &world.settings(), &heard).await.expect("the index");
    assert_eq!(names(&found), ["hello"]);
    let heard = heard.0.into_inner().expect("lock");
    assert!(heard[0].starts_with("no copy of the template index is kept: "), "{heard:?}");
}
