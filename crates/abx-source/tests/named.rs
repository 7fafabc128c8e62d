//! Older releases of built-in templates, and templates of the official repository.

use std::fs;

use abx_core::{Fault, Home, Silent};
use abx_reference::Reference;
use abx_source::{GithubSettings, Release, Releases, SourceContext, fetch, resolve, stands_for};
use abx_test::github::LoopbackGithub;

const fn release(version: &'static str) -> Release {
    Release { version, date: "2026-01-01", size: None, packages: &[] }
}

/// `base` is embedded at 1.0.0.
static RELEASES: &[Releases] = &[Releases {
    name: "base",
    columns: &[],
    releases: &[
        release("1.0.0"),
        release("1.0.0-rc.2"),
        release("0.9.1"),
        release("0.9.0"),
        release("0.2.0"),
    ],
}];

fn template(name: &str, version: &str) -> String {
    format!("version: \"1\"\nmetadata: {{name: {name}, version: \"{version}\"}}\nbase: {{image: debian}}\n")
}

struct World {
    dir: tempfile::TempDir,
    github: LoopbackGithub,
}

impl World {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("tempdir"), github: LoopbackGithub::start() }
    }

    fn context(&self) -> SourceContext {
        let home = Home::new(self.dir.path().join("home"));
        let context = SourceContext::new(home, self.dir.path().to_owned(), None);
        SourceContext { releases: RELEASES, index: "none.yaml".into(), ..context }
    }

    /// Publishes a template of the official repository.
    fn publish(&self, git_ref: &str, name: &str, version: &str) {
        let file = format!("{name}/template.yaml");
        let files = [(file.as_str(), template(name, version))];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let commit = format!(
            "{:0>40}",
            format!("{version}{name}").replace(|letter: char| !letter.is_ascii_hexdigit(), "0")
        );
        self.github.put("alicloud/sandbox-templates", git_ref, &commit, &files);
        if git_ref != "HEAD" {
            self.github.tag("alicloud/sandbox-templates", git_ref, &commit, false);
        }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        fs::write(path, text).expect("write");
    }

    /// The template's display and version, or `CODE message (hint)`.
    async fn picture(&self, text: &str, context: &SourceContext) -> String {
        let settings = GithubSettings { api: self.github.url(), ..GithubSettings::default() };
        let found = match fetch(text, context, &settings, &Silent).await {
            Ok(context) => resolve(text, &context),
            Err(error) => Err(error),
        };
        match found {
            Ok(lineage) => {
                let leaf = lineage.leaf().expect("a template");
                format!("{} {}", leaf.display, leaf.spec.metadata.version)
            }
            Err(error) => {
                let hint = error.hints().into_iter().next().unwrap_or_default();
                format!("{} {error} ({hint})", error.code())
            }
        }
    }
}

#[tokio::test]
async fn a_version_of_a_built_in_is_the_best_of_all_releases() {
    let world = World::new();
    for version in ["0.9.1", "0.9.0", "0.2.0", "1.0.0-rc.2"] {
        world.publish(&format!("base/v{version}"), "base", version);
    }
    let official = |version: &str| format!("alicloud/sandbox-templates//base@base/v{version} {version}");
    let none = |selector: &str| {
        format!(
            "E2006 `base` has no version `{selector}` (there is `1.0.0`, `1.0.0-rc.2`, `0.9.1`, `0.9.0`, `0.2.0`)"
        )
    };
    for (text, expected) in [
        ("base", "base 1.0.0".to_owned()),
        ("base:latest", "base 1.0.0".to_owned()),
        ("base:^1", "base 1.0.0".to_owned()),
        ("base:~1.0", "base 1.0.0".to_owned()),
        ("base:~=1.0", "base 1.0.0".to_owned()),
        ("base:>=0.1", "base 1.0.0".to_owned()),
        ("base:1", "base 1.0.0".to_owned()),
        ("base:1.0.0", "base 1.0.0".to_owned()),
        ("base:v1.0.0", "base 1.0.0".to_owned()),
        ("base:~0.9", official("0.9.1")),
        ("base:^0.9.0", official("0.9.1")),
        ("base:^0.2", official("0.2.0")),
        ("base:0.9", official("0.9.0")),
        ("base:v0.9.0", official("0.9.0")),
        ("base:<0.9", official("0.2.0")),
        ("base:1.0.0-rc.2", official("1.0.0-rc.2")),
        ("base:>=1.0.0-rc.1, <1.0.0", official("1.0.0-rc.2")),
        ("base:^2", none("^2")),
        ("base:1.0.0-rc.1", none("1.0.0-rc.1")),
        ("base:0.9.2", none("0.9.2")),
        ("base:stable", none("stable")),
    ] {
        assert_eq!(world.picture(text, &world.context()).await, expected, "{text}");
    }
}

#[test]
fn a_release_that_this_program_does_not_know_may_be_in_the_repository() {
    let world = World::new();
    let hints = |text: &str| resolve(text, &world.context()).expect_err(text).hints();
    assert_eq!(hints("base:^2")[1], "a newer release may be `alicloud/sandbox-templates//base@^2`");
    assert_eq!(hints("base:2.1")[1], "a newer release may be `alicloud/sandbox-templates//base@=2.1.0`");
    assert_eq!(hints("base:stable").len(), 1);
    assert_eq!(hints("base:<0.1").len(), 1);
}

#[tokio::test]
async fn the_second_tier_is_in_the_official_repository() {
    let world = World::new();
    world.publish("HEAD", "go-dev", "1.2.0");
    world.publish("go-dev/v1.1.0", "go-dev", "1.1.0");
    let context = world.context();
    for (text, expected) in [
        ("go-dev", "alicloud/sandbox-templates//go-dev 1.2.0"),
        ("go-dev:1.1", "alicloud/sandbox-templates//go-dev@=1.1.0 1.1.0"),
        ("go-dev:^1.1", "alicloud/sandbox-templates//go-dev@^1.1 1.1.0"),
        ("go-dev:1.3", "E2006 "),
        ("alicloud/sandbox-templates/go-dev", "alicloud/sandbox-templates//go-dev 1.2.0"),
        ("ml-gpu", "E2001 there is no directory `alicloud/sandbox-templates//ml-gpu`"),
    ] {
        let picture = world.picture(text, &context).await;
        assert!(picture.starts_with(expected), "{text}: {picture}");
    }
    let reference = Reference::parse("go-dev").expect("a name");
    let stands = stands_for(&reference, &context).expect("known");
    assert_eq!(stands.to_string(), "alicloud/sandbox-templates//go-dev");
}

#[tokio::test]
async fn an_alias_holds_in_the_official_repository() {
    let world = World::new();
    world.publish("HEAD", "python-base", "9.0.0");
    let picture = world.picture("alicloud/sandbox-templates/python", &world.context()).await;
    assert_eq!(picture, "alicloud/sandbox-templates//python-base 9.0.0");
    let picture = world.picture("python", &world.context()).await;
    assert!(picture.starts_with("python-base "), "the name alone is built-in: {picture}");
}

#[tokio::test]
async fn a_checkout_stands_in_for_the_official_repository() {
    let world = World::new();
    world.write("mirror/go-dev/template.yaml", &template("go-dev", "1.2.0"));
    world.write("mirror/base/template.yaml", &template("base", "0.9.1"));
    let top = world.dir.path().join("mirror");
    let context = SourceContext { official: top.display().to_string(), ..world.context() };
    for (text, expected) in [
        ("go-dev", format!("{}/go-dev 1.2.0", top.display())),
        ("go-dev:^1", format!("{}/go-dev 1.2.0", top.display())),
        ("go-dev:2.0.0", "E2006 `go-dev` has no version `2.0.0` (there is `1.2.0`)".to_owned()),
        ("base", "base 1.0.0".to_owned()),
        ("base:~0.9", format!("{}/base 0.9.1", top.display())),
        ("base:^0.2", "E2006 `base` has no version `0.2.0` (there is `0.9.1`)".to_owned()),
        ("ml-gpu", format!("E2001 there is no directory `{}/ml-gpu`", top.display())),
    ] {
        let picture = world.picture(text, &context).await;
        assert!(picture.starts_with(&expected), "{text}: {picture}");
    }
    assert!(world.github.requests().is_empty());
    let malformed = SourceContext { official: "./mirror".into(), ..world.context() };
    let picture = world.picture("go-dev", &malformed).await;
    assert_eq!(
        picture,
        "E2004 `./mirror` cannot be the official repository (the setting `official_repo` is `owner/repo`, or the \
         absolute path of a checkout)"
    );
}

#[tokio::test]
async fn an_image_may_share_a_name_with_the_second_tier() {
    let world = World::new();
    world.publish("HEAD", "go-dev", "1.2.0");
    for (base, expected) in [("go-dev", 2), ("go-dev:1.22-alpine", 1), ("redis", 1)] {
        world.write("t/template.yaml", &format!("name: mine\nversion: \"1.0.0\"\nbase: \"{base}\"\n"));
        let settings = GithubSettings { api: world.github.url(), ..GithubSettings::default() };
        let context = fetch("./t", &world.context(), &settings, &Silent).await.expect(base);
        let lineage = resolve("./t", &context).expect(base);
        assert_eq!(lineage.packages.len(), expected, "{base}");
    }
}
