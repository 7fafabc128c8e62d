//! Templates of a catalog and of the official repository, installed and inherited from.

use abx_test::docker_registry::DockerRegistry;
use abx_test::github::LoopbackGithub;
use abx_test::index::LoopbackIndex;
use abx_test::{Ran, TestContext, run};

use super::{empty, with_debian, with_python};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

struct World {
    abx: TestContext,
    host: LoopbackIndex,
    github: LoopbackGithub,
}

impl World {
    fn new() -> Option<Self> {
        let abx = with_python()?;
        Some(Self { abx, host: LoopbackIndex::start("templates: []"), github: LoopbackGithub::start() })
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = self.abx.command(words);
        command.env("ABX_TEMPLATE_INDEX_URL", self.host.url()).env("ABX_GITHUB_API_URL", self.github.url());
        run(command)
    }

    /// What a command says in a sandbox of the template.
    fn says(&self, words: &[&str], script: &str) -> String {
        let words = [&["create", "--rm", "--network", "none"], words, &["--", "sh", "-c", script]].concat();
        self.run(&words).success()
    }

    /// How often anybody was asked.
    fn requests(&self) -> usize {
        self.host.requests().len() + self.github.requests().len()
    }
}

fn template(name: &str, version: &str, parent: &str, rest: &str) -> String {
    format!(
        "version: \"1\"\nmetadata: {{name: {name}, version: \"{version}\"}}\nbase: {{from: \"{parent}\"}}\n{rest}\n"
    )
}

#[test]
fn an_installed_template_is_created_without_asking_anybody() {
    let Some(world) = World::new() else { return };
    let text = |version: &str| {
        template("inner", version, "base", &format!("build: {{run: [\"echo {version} > /made\"]}}"))
    };
    world.host.put("templates: [{name: Greeter, repo: o/r, path: t}]");
    world.github.put("o/r", "HEAD", ONE, &[("t/template.yaml", &text("1.1.0"))]);
    let ran = world.run(&["template", "install", "greeter"]);
    assert!(ran.stderr.contains(&format!("installed greeter (1.1.0, latest) from o/r//t@{ONE}")), "{ran:#?}");
    assert_eq!(ran.success(), "greeter\n");
    let asked = world.requests();
    for words in [&["greeter"][..], &["greeter:1.1.0"], &["greeter:^1"], &["Greeter", "--offline"]] {
        assert_eq!(world.says(words, "cat /made"), "1.1.0\n", "{words:?}");
    }
    assert_eq!(world.requests(), asked, "nobody is asked");
    world.github.put("o/r", "HEAD", TWO, &[("t/template.yaml", &text("1.2.0"))]);
    world.run(&["template", "install", "o/r/t", "--name", "other", "--no-cache"]).success();
    assert_eq!(world.says(&["other:~1.2"], "cat /made"), "1.2.0\n");
    assert_eq!(world.says(&["greeter"], "cat /made"), "1.1.0\n");
    let listed = world.run(&["template", "list"]).success();
    assert!(listed.contains("greeter") && listed.contains("other"), "{listed}");
}

#[test]
fn a_built_in_is_installed_under_its_own_name() {
    let Some(world) = World::new() else { return };
    let ran = world.run(&["template", "install", "python", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.success()).expect("JSON");
    assert_eq!(value["name"], "python-base");
    assert!(!world.run(&["template", "list"]).success().contains("local"), "no second name");
    let failed = world.run(&["template", "install", "nothing-like-it"]);
    assert_eq!((failed.status, failed.stdout.as_str()), (Some(4), ""), "{failed:#?}");
    let taken = world.run(&["template", "install", "base", "--name", "go-dev"]);
    assert!(taken.stderr.contains("warning: `go-dev` is the name of an official template"), "{taken:#?}");
    let failed = world.run(&["template", "install", "base", "--name", "a/b"]);
    assert_eq!(failed.status, Some(2), "{failed:#?}");
}

#[test]
fn children_of_one_parent_build_it_once_whatever_they_call_it() {
    let Some(world) = World::new() else { return };
    world.host.put("templates: [{name: shared, repo: p/q, path: parent, ref: v1}]");
    let parent =
        template("parent", "1.0.0", "base", "build: {run: [\"cat /proc/sys/kernel/random/uuid > /once\"]}");
    world.github.put("p/q", "v1", ONE, &[("parent/template.yaml", &parent)]);
    world.github.tag("p/q", "v1.0.0", ONE, false);
    world.github.put("p/q", "v1.0.0", ONE, &[("parent/template.yaml", &parent)]);
    let made = |name: &str, parent: &str| {
        let rest = format!("base:\n  from: \"{parent}\"\nbuild:\n  env: {{NAME: {name}}}\n");
        world.says(&[&world.abx.template(name, &rest)], "cat /once")
    };
    let first = made("one", "p/q//parent@v1");
    assert_eq!(first.trim().len(), 36, "{first}");
    assert_eq!(made("two", "shared"), first);
    assert_eq!(made("three", "shared:^1"), first);
    assert_eq!(made("four", &format!("https://github.com/P/Q/tree/{ONE}/parent")), first);
    assert_eq!(world.github.asked("/codeload/").len(), 1, "{:?}", world.github.asked("/codeload/"));
}

#[test]
fn a_circle_through_a_catalog_is_drawn_where_it_begins() {
    let Some(world) = World::new() else { return };
    world.host.put("templates: [{name: two, repo: o/two}]");
    world.github.put("o/two", "HEAD", ONE, &[("template.yaml", &template("two", "1.0.0", "o/one", ""))]);
    world.github.put("o/one", "HEAD", TWO, &[("template.yaml", &template("one", "1.0.0", "two", ""))]);
    let ran = world.run(&["create", "o/one"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
    assert!(
        ran.stderr.contains("error[E2007]: ") && ran.stderr.contains("o/one → o/two → o/one"),
        "{ran:#?}"
    );
}

#[test]
fn an_image_of_a_registry_is_installed_by_pulling_it() {
    let Some(registry) = DockerRegistry::start() else { return };
    let Some(abx) = with_debian() else { return };
    let rest =
        "  version: \"1.2.0\"\nbase:\n  image: debian:bookworm-slim\nbuild:\n  run: [echo shop > /shop]\n";
    let shop = abx.template("shop", rest);
    abx.run(&["template", "build", &shop, "--name", "shop", "--tag", "1.2.0"]).success();
    let image = format!("acr://{}/team/shop", registry.host());
    let pushed = abx.run(&["template", "push", "shop:1.2.0", &image]).success();

    let other = empty();
    let installed =
        other.run(&["template", "install", &format!("{image}:^1"), "--name", "mine", "--json"]).json();
    assert_eq!((&installed["name"], &installed["tags"]), (&"mine".into(), &serde_json::json!(["1.2.0"])));
    assert_eq!(installed["from"], pushed.trim());
    drop(registry);
    assert_eq!(other.create(&["--offline", "mine"]).sh("cat /shop"), "shop\n");
}
