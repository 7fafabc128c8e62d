//! `abx template cache`: what is listed, what goes and what is found damaged, with repositories of a GitHub on the
//! loopback.

use std::path::PathBuf;
use std::process::Stdio;

use abx_test::github::LoopbackGithub;
use serde_json::Value;

use crate::support::{Abx, Ran};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {image: debian}\n";

struct World {
    abx: Abx,
    github: LoopbackGithub,
}

impl World {
    /// With two repositories fetched, one of them by two names.
    fn new() -> Self {
        let (abx, github) = (Abx::new(), LoopbackGithub::start());
        let large = "x".repeat(3 << 20);
        github.put("o/small", "HEAD", ONE, &[("template.yaml", TEMPLATE), ("files/a", "a")]);
        github.put("o/small", "v1", ONE, &[("template.yaml", TEMPLATE), ("files/a", "a")]);
        github.put("o/large", "HEAD", TWO, &[("template.yaml", TEMPLATE), ("files/large", &large)]);
        let world = Self { abx, github };
        for reference in ["o/small", "o/small@v1", "o/large"] {
            assert_eq!(world.run(&["template", "resolve", reference]).status, Some(0));
        }
        world
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.command(words).output().expect("abx runs"))
    }

    fn command(&self, words: &[&str]) -> std::process::Command {
        let mut command = self.abx.command(words);
        command.env("ABX_GITHUB_API_URL", self.github.url());
        command
    }

    fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(&[&["template", "cache"], words, &["--json"]].concat());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    /// The names of all entries.
    fn names(&self) -> Vec<String> {
        names(&self.json(&["list"])["entries"])
    }

    fn entry(&self, repository: &str) -> PathBuf {
        let packages = self.abx.home().join("state/store/packages");
        let host =
            std::fs::read_dir(packages).expect("packages").next().expect("a host").expect("entry").path();
        let commits = std::fs::read_dir(host.join(repository)).expect("repository");
        commits.map(|entry| entry.expect("entry").path()).next().expect("a commit")
    }
}

fn names(entries: &Value) -> Vec<String> {
    let entries = entries.as_array().expect("a list");
    let mut names: Vec<String> =
        entries.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect();
    names.sort_unstable();
    names
}

#[test]
fn entries_are_listed_with_size_age_and_origin() {
    let world = World::new();
    let listing = world.json(&["list"]);
    let entries = listing["entries"].as_array().expect("a list");
    assert_eq!(names(&listing["entries"]), ["o/large", "o/small"]);
    let small = entries.iter().find(|entry| entry["name"] == "o/small").expect("small");
    assert_eq!((&small["kind"], &small["commit"]), (&"repository".into(), &ONE.into()));
    assert_eq!(small["refs"], serde_json::json!(["default", "v1"]));
    assert!(small["origin"].as_str().expect("host").starts_with("127.0.0.1"), "{small}");
    for time in ["made", "used"] {
        assert!(small[time].as_u64().is_some_and(|time| time > 1_600_000_000), "{small}");
    }
    // The largest first.
    assert_eq!(entries[0]["name"], "o/large");
    assert!(entries[0]["size"].as_u64().expect("size") > 3 << 20);
    assert_eq!(listing["totals"][0]["entries"], 2);
    let text = world.run(&["template", "cache", "list"]).stdout;
    for part in ["KIND", "repository  o/small", "default, v1 (111111111111)", "total"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    let empty = Abx::new();
    assert_eq!(empty.run(&["template", "cache", "list"]).stdout, "nothing is kept\n");
    assert!(!empty.home().join("state").exists(), "a look makes no state");
}

#[test]
fn conditions_choose_what_goes() {
    let world = World::new();
    for (words, expected) in [
        (vec![], vec![]),
        (vec!["--older-than", "1h"], vec![]),
        (vec!["--older-than", "0s"], vec!["o/large", "o/small"]),
        (vec!["--larger-than", "1MiB"], vec!["o/large"]),
        (vec!["--larger-than", "1GiB"], vec![]),
        (vec!["--kind", "image"], vec![]),
        (vec!["--kind", "repository", "--larger-than", "1MiB"], vec!["o/large"]),
        (vec!["--keep-under", "1GiB"], vec![]),
        (vec!["o/small"], vec!["o/small"]),
        (vec!["O/Small@v1"], vec!["o/small"]),
        (vec!["22222222"], vec!["o/large"]),
        (vec!["--all"], vec!["o/large", "o/small"]),
    ] {
        let cleaned = world.json(&[&["clean", "--dry-run"][..], &words].concat());
        assert_eq!(names(&cleaned["removed"]), expected, "{words:?}");
        assert_eq!(cleaned["freed"] == 0, expected.is_empty(), "{words:?}");
    }
    assert_eq!(world.names(), ["o/large", "o/small"], "nothing has gone");
}

#[test]
fn the_least_recently_used_go_first() {
    let world = World::new();
    let mark = world.entry("o/small").join("package.json");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(90_000);
    std::fs::File::open(mark).expect("mark").set_modified(old).expect("set");
    let size = |name: &str| {
        let listing = world.json(&["list"]);
        let entries = listing["entries"].as_array().expect("a list").clone();
        entries.into_iter().find(|entry| entry["name"] == name).expect("entry")["size"]
            .as_u64()
            .expect("size")
    };
    assert!(size("o/small") < 1 << 20);
    // The large one alone would do, but the other was not used for a day.
    let cleaned = world.json(&["clean", "--keep-under", "4MiB", "--dry-run"]);
    assert_eq!(names(&cleaned["removed"]), [""; 0]);
    let cleaned = world.json(&["clean", "--keep-under", "3MiB"]);
    assert_eq!(names(&cleaned["removed"]), ["o/large", "o/small"]);
}

#[test]
fn what_was_removed_is_fetched_again_and_leaves_no_trace() {
    let world = World::new();
    let ran = world.run(&["template", "cache", "clean", "o/small"]);
    assert_eq!((ran.status, ran.stdout.lines().count()), (Some(0), 2), "{ran:?}");
    assert!(ran.stdout.contains("freed "), "{ran:?}");
    assert_eq!(world.names(), ["o/large"]);
    let state = world.abx.home().join("state");
    for trace in ["templates/o/small", "store/locks"] {
        let left = std::fs::read_dir(state.join(trace)).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{trace}");
    }
    let offline = world.run(&["template", "resolve", "o/small", "--offline"]);
    assert!(offline.stderr.contains("error[E5005]"), "{offline:?}");
    assert_eq!(world.run(&["template", "resolve", "o/small"]).status, Some(0));
    let unknown = world.run(&["template", "cache", "clean", "o/nothing"]);
    assert_eq!(unknown.status, Some(4), "{unknown:?}");
    assert!(unknown.stderr.contains("error[E2001]: nothing that is kept is called `o/nothing`"));
}

#[test]
fn damage_is_named_and_repaired() {
    let world = World::new();
    let verify = ["template", "cache", "verify"];
    let ran = world.run(&verify);
    assert_eq!(
        (ran.status, ran.stdout.as_str()),
        (Some(0), "2 entries verified, none is damaged\n"),
        "{ran:?}"
    );
    let tree = world.entry("o/small").join("tree");
    std::fs::write(tree.join("files/a"), "b").expect("write");
    std::fs::remove_file(world.entry("o/large").join("package.json")).expect("remove");
    let ran = world.run(&verify);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    for part in [
        "repository o/large@222222222222: it is not whole",
        "repository o/small@111111111111: its files are not what they were when it was made",
        "2 entries verified, 2 damaged",
        "--repair",
    ] {
        assert!(ran.stdout.contains(part), "no {part}: {ran:?}");
    }
    let ran = world.run(&[&verify[..], &["--repair"]].concat());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(world.names().is_empty());
    assert_eq!(world.run(&["template", "resolve", "o/small"]).status, Some(0));
    assert_eq!(world.run(&verify).stdout, "1 entry verified, none is damaged\n");
}

#[test]
fn cleaning_and_fetching_go_side_by_side() {
    let world = World::new();
    let start = |words: &[&str]| {
        let mut command = world.command(words);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("abx starts")
    };
    for _ in 0..4 {
        let mut running = Vec::new();
        for _ in 0..3 {
            running.push(start(&["template", "resolve", "o/small"]));
            running.push(start(&["template", "cache", "clean", "--all"]));
            running.push(start(&["template", "validate", "o/large"]));
        }
        for child in running {
            let output = child.wait_with_output().expect("abx ends");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(world.run(&["template", "cache", "verify"]).status, Some(0));
    let staging = std::fs::read_dir(world.abx.home().join("state/store/staging")).expect("staging");
    assert_eq!(staging.count(), 0);
}
