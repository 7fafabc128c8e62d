//! Templates of a catalog on the loopback: searched, matched, named.

use std::process::Command;

use abx_test::github::LoopbackGithub;
use abx_test::index::{LoopbackIndex, Trick};
use serde_json::Value;

use crate::support::{Abx, Ran};

const INDEX: &str = "\
templates:
  - name: web-scraper
    repo: o/r
    path: scraper
    description: Reads pages of the web
    tags: [browser, python]
    status: official
    category: web
  - name: base
    repo: o/base
    description: Another base
  - {name: go-dev, repo: o/go, description: 数据分析, triggers: [分析数据]}
";
const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

struct World {
    abx: Abx,
    host: LoopbackIndex,
    github: LoopbackGithub,
}

impl World {
    fn new() -> Self {
        Self { abx: Abx::new(), host: LoopbackIndex::start(INDEX), github: LoopbackGithub::start() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.abx.command(&[&["template"], words].concat());
        command.env("ABX_TEMPLATE_INDEX_URL", self.host.url()).env("ABX_GITHUB_API_URL", self.github.url());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.command(words).output().expect("abx runs"))
    }

    fn value(&self, words: &[&str]) -> Value {
        let ran = self.run(&[words, &["--json"]].concat());
        assert_eq!(ran.status, Some(0), "{ran:#?}");
        serde_json::from_str(&ran.stdout).expect("JSON")
    }

    /// One key of each template found.
    fn each(&self, key: &str, words: &[&str]) -> Vec<String> {
        let value = self.value(words);
        let found = value.as_array().expect("a list").iter();
        found.map(|one| one[key].as_str().expect("text").to_owned()).collect()
    }
}

#[test]
fn search_prints_a_row_for_each_template_best_first() {
    let world = World::new();
    let ran = world.run(&["search", "READS"]);
    assert_eq!(
        ran.stdout,
        "NAME         STATUS    DESCRIPTION             TAGS             SOURCE\n\
         web-scraper  official  Reads pages of the web  browser, python  catalog\n"
    );
    let python = world.each("name", &["search", "python"]);
    assert_eq!(
        (python.first().map(String::as_str), python.contains(&"web-scraper".into())),
        (Some("python-base"), true)
    );
    assert_eq!(world.each("name", &["search", "python", "pages"]), ["web-scraper"]);
    assert_eq!(
        world.each("name", &["search", "--category", "web", "--status", "official", "pages"]),
        ["web-scraper"]
    );
    assert_eq!(world.each("name", &["search", "--tag", "browser"]), ["web-scraper"]);
    let base = world.run(&["search", "base"]);
    let lines: Vec<&str> = base.stdout.lines().collect();
    assert!(lines[1].starts_with("base ") && lines[1].ends_with("built-in"), "{base:#?}");
    assert!(lines[2].starts_with("base ") && lines[2].ends_with("o/base"), "{base:#?}");
}

#[test]
fn a_name_that_means_another_template_is_referred_to_by_its_repository() {
    let world = World::new();
    assert_eq!(world.each("reference", &["search", "another"]), ["o/base"]);
    assert_eq!(world.each("reference", &["search", "go-dev"]), ["o/go"]);
    assert_eq!(world.each("reference", &["search", "pages"]), ["web-scraper"]);
    assert_eq!(world.each("source", &["search", "pages"]), ["o/r//scraper"]);
}

#[test]
fn finding_nothing_is_no_failure() {
    let world = World::new();
    let ran = world.run(&["search", "web-scrapper"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
    assert!(ran.stderr.starts_with("no template has all of that; did you mean `web-scraper`"), "{ran:#?}");
    assert_eq!(world.value(&["search", "zzzzzz"]), serde_json::json!([]));
    let ran = world.run(&["match", "zzzzzz"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""));
}

#[test]
fn match_ranks_and_says_why() {
    let world = World::new();
    let ran = world.run(&["match", "read pages with a browser in Python"]);
    // However wide the columns are for other templates.
    let line = |number: usize| {
        let line = ran.stdout.lines().nth(number).unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(0), "NAME SCORE WHY DESCRIPTION SOURCE");
    assert!(line(1).starts_with("python-base 20 triggers: python; tags: python; name: python "), "{ran:#?}");
    let scraper = "web-scraper 12 tags: browser, python; description: read, pages ";
    assert!(line(2).starts_with(scraper), "{ran:#?}");
    let value = world.value(&["match", "请分析数据"]);
    assert_eq!((&value[0]["name"], &value[0]["triggers"][0]), (&"go-dev".into(), &"分析数据".into()));
}

#[test]
fn a_stale_copy_is_used_with_a_notice_and_none_is_an_error() {
    let world = World::new();
    world.host.play(Trick::Refuse(503, vec![], ""), 1);
    let ran = world.run(&["search", "web"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""), "{ran:#?}");
    assert!(ran.stderr.starts_with("error[E5004]: 127.0.0.1:"), "{ran:#?}");
    assert_eq!(world.run(&["search", "web", "--offline"]).error_code(), "E5005");
    assert_eq!(world.run(&["search", "web"]).status, Some(0));
    world.host.play(Trick::Refuse(503, vec![], ""), 1);
    let stale = world.run(&["search", "web", "--refresh"]);
    assert_eq!(stale.status, Some(0), "{stale:#?}");
    assert!(stale.stdout.contains("web-scraper"), "{stale:#?}");
    assert!(
        stale.stderr.contains("failed with status 503") && stale.stderr.contains("; using the copy of "),
        "{stale:#?}"
    );
    let before = world.host.requests().len();
    assert_eq!(world.run(&["search", "web", "--offline"]).status, Some(0));
    assert_eq!(world.host.requests().len(), before);
    world.host.play(Trick::Refuse(404, vec![], ""), 1);
    let other = format!("{}?other", world.host.url());
    let ran = world.run(&["match", "python", "--index-url", &other]);
    assert!(ran.status == Some(0) && ran.stderr.contains("warning: without the catalog: "), "{ran:#?}");
}

#[test]
fn a_wrong_index_is_shown_with_its_line() {
    let world = World::new();
    world.host.put(
        "templates:\n  - name: a\n    repo: file:/etc\n  - name: b\n    repo: https://evil.example/o/r\n",
    );
    let ran = world.run(&["search", "a"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
    for part in ["index.yaml:3:11", "3 |     repo: file:/etc", "index.yaml:5:11"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    world.host.put("schema_version: 2\ntemplates: {}\n");
    let ran = world.run(&["search", "a"]);
    assert!(ran.stderr.contains("needs a newer abx"), "{ran:#?}");
}

#[test]
fn names_of_the_catalog_and_of_the_official_repository_resolve() {
    let world = World::new();
    let template = "version: \"1\"\nmetadata: {name: scraper, version: \"1.2.0\"}\nbase: {image: debian}\n";
    world.github.put("o/r", "HEAD", COMMIT, &[("scraper/template.yaml", template)]);
    world.github.put("alicloud/sandbox-templates", "HEAD", COMMIT, &[("go-dev/template.yaml", template)]);
    for (name, canonical) in [
        ("web-scraper", format!("o/r//scraper@{COMMIT}")),
        ("go-dev", format!("alicloud/sandbox-templates//go-dev@{COMMIT}")),
    ] {
        let value = world.value(&["resolve", name]);
        assert_eq!((&value["kind"], &value["canonical"]), (&"github".into(), &canonical.into()), "{value}");
        assert_eq!(value["commit"], COMMIT);
    }
    assert_eq!(world.value(&["resolve", "base"])["kind"], "built-in", "not the one of the catalog");
    let unknown = world.run(&["resolve", "web-scrapper"]);
    assert_eq!((unknown.status, unknown.error_code()), (Some(4), "E2001".to_owned()));
    assert!(unknown.stderr.contains("did you mean `web-scraper`?"), "{unknown:#?}");
}

#[test]
fn a_setting_says_where_the_official_repository_is() {
    let world = World::new();
    let template = "version: \"1\"\nmetadata: {name: go-dev}\nbase: {image: debian}\n";
    let checkout = world.abx.home().join("checkout");
    std::fs::create_dir_all(checkout.join("go-dev")).expect("mkdir");
    std::fs::write(checkout.join("go-dev/template.yaml"), template).expect("write");
    let mut command = world.command(&["resolve", "go-dev", "--json"]);
    let ran = Ran::from(command.env("ABX_OFFICIAL_REPO", &checkout).output().expect("abx runs"));
    let value: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
    assert_eq!(value["kind"], "directory", "{value}");
    assert!(world.github.requests().is_empty());
}

#[test]
fn processes_at_the_same_time_ask_for_the_index_once() {
    let world = World::new();
    world.host.play(Trick::Stall(std::time::Duration::from_millis(300)), 1);
    let start = || {
        world.command(&["search", "web"]).stdout(std::process::Stdio::piped()).spawn().expect("abx starts")
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    for child in running {
        let output = child.wait_with_output().expect("abx ends");
        assert!(String::from_utf8_lossy(&output.stdout).contains("web-scraper"), "{output:?}");
    }
    assert_eq!(world.host.requests().len(), 1);
}

#[test]
fn a_locked_name_stays_with_its_repository_whatever_the_catalog_says_later() {
    let parent = "version: \"1\"\nmetadata: {name: scraper, version: \"1.2.0\"}\nbase: {image: debian}\n";
    let world = || {
        let world = World::new();
        world.github.put("o/r", "HEAD", COMMIT, &[("scraper/template.yaml", parent)]);
        world
    };
    let digest = world().value(&["resolve", "web-scraper"])["digest"].clone();
    let lock = format!(
        "version = 1\n\n[[template]]\nreference = \".\"\nkind = \"directory\"\nname = \"mine\"\nparent = \"web-scraper\"\n\n\
         [[template]]\nreference = \"web-scraper\"\nkind = \"github\"\nname = \"scraper\"\nsource = \"o/r//scraper\"\n\
         commit = \"{COMMIT}\"\ndigest = {digest}\n",
    );
    let world = world();
    let folder = world.abx.home().join("mine");
    std::fs::create_dir(&folder).expect("mkdir");
    let child = "version: \"1\"\nmetadata: {name: mine}\nbase: {from: web-scraper}\n";
    std::fs::write(folder.join("template.yaml"), child).expect("write");
    std::fs::write(folder.join("template.lock"), lock).expect("write");
    world.host.put("templates: [{name: web-scraper, repo: evil/r}]");
    let ran = world.run(&["validate", "./mine"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert!(world.host.requests().is_empty() && world.github.asked("/evil/").is_empty(), "{ran:#?}");
    std::fs::remove_file(folder.join("template.lock")).expect("remove");
    assert_eq!(world.run(&["validate", "./mine"]).status, Some(4));
    assert!(!world.github.asked("/evil/").is_empty(), "without the lock the catalog leads elsewhere");
}

#[test]
fn a_fifo_is_not_waited_for() {
    let abx = Abx::new();
    let fifo = abx.home().join("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).expect("mkfifo");
    let ran = abx.run(&["template", "search", "x", "--index-url", "fifo"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(1), "E4000"), "{ran:#?}");
    std::fs::create_dir_all(abx.home().join(".abx")).expect("create");
    std::fs::rename(&fifo, abx.home().join(".abx/config.toml")).expect("rename");
    let ran = abx.run(&["config", "list"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(1), "E4000"), "{ran:#?}");
}
