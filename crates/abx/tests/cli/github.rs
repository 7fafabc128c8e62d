//! Templates of a GitHub on the loopback.

use std::process::{Command, Stdio};
use std::time::Duration;

use abx_test::github::{LoopbackGithub, Trick};
use abx_test::wait_until;

use crate::support::{Abx, Ran};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {from: p/parent}\n";

/// With `o/r` that has a template in `t/`.
fn github() -> LoopbackGithub {
    let github = LoopbackGithub::start();
    github.put("o/r", "HEAD", COMMIT, &[("t/template.yaml", TEMPLATE)]);
    github.put("o/r", "v1", COMMIT, &[("t/template.yaml", TEMPLATE)]);
    github
}

fn command(abx: &Abx, github: &LoopbackGithub, words: &[&str]) -> Command {
    let mut command = abx.command(words);
    command.env("ABX_GITHUB_API_URL", github.url());
    command
}

fn run(abx: &Abx, github: &LoopbackGithub, words: &[&str]) -> Ran {
    Ran::from(command(abx, github, words).output().expect("abx runs"))
}

#[test]
fn resolve_says_what_a_reference_stands_for_and_fetches_no_more() {
    let (abx, github) = (Abx::new(), github());
    let ran = run(&abx, &github, &["template", "resolve", "o/r/t@v1", "--json"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for (key, expected) in [
        ("kind", "github"),
        ("owner", "o"),
        ("repo", "r"),
        ("subdir", "t"),
        ("ref", "v1"),
        ("commit", COMMIT),
        ("canonical", "o/r//t@0123456789abcdef0123456789abcdef01234567"),
    ] {
        assert_eq!(value[key], expected, "{key}");
    }
    assert!(value["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{value}");
    assert_eq!(github.asked("/parent"), [""; 0], "a parent plays no part");
    let again = run(&abx, &github, &["template", "resolve", "o/r//t@v1", "--offline"]);
    assert_eq!(again.status, Some(0), "{again:#?}");
    assert!(again.stdout.contains(&format!("o/r//t@{COMMIT}")), "{again:#?}");
    assert_eq!(github.requests().len(), 3, "commit, archive and its redirect");
}

#[test]
fn other_references_resolve_too() {
    let (abx, github) = (Abx::new(), github());
    let pinned = format!("docker://debian@sha256:{}", "0a".repeat(32));
    for (reference, kind, canonical) in
        [("python", "built-in", "python-base:1.0.0"), (&pinned, "image", &pinned)]
    {
        let ran = run(&abx, &github, &["template", "resolve", reference, "--json"]);
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        assert_eq!((&value["kind"], &value["canonical"]), (&kind.into(), &canonical.into()));
        assert!(value["commit"].is_null());
    }
    assert!(github.requests().is_empty());
}

#[test]
fn failures_have_their_status_and_say_what_to_do() {
    for (trick, status, code, help) in [
        (Trick::Refuse(401, vec![], ""), 3, "E1010", "GITHUB_TOKEN"),
        (Trick::Refuse(403, vec![], ""), 3, "E5002", "GITHUB_TOKEN"),
        (
            Trick::Refuse(403, vec![("x-ratelimit-remaining", "0".into())], ""),
            6,
            "E5000",
            "5000 requests an hour",
        ),
        (Trick::Refuse(429, vec![("retry-after", "7".into())], ""), 6, "E5003", "in 7 seconds"),
        (Trick::Refuse(404, vec![], ""), 4, "E2001", "check the spelling"),
        (Trick::Refuse(500, vec![], ""), 1, "E5004", "--offline"),
    ] {
        let (abx, github) = (Abx::new(), github());
        github.play("/repos/", trick, 9);
        let ran = run(&abx, &github, &["template", "validate", "o/r//t"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{ran:#?}");
        assert!(ran.stderr.contains(&format!("error[{code}]: ")), "{ran:#?}");
        assert!(ran.stderr.contains(help), "{ran:#?}");
    }
}

#[test]
fn the_nearest_token_is_sent_and_a_working_folder_gives_nothing_else() {
    let (abx, github) = (Abx::new(), github());
    let evil = LoopbackGithub::start();
    std::fs::create_dir(abx.home().join(".abx")).expect("mkdir");
    std::fs::write(abx.home().join(".abx/.env"), "github_token=stored\n").expect("write");
    let sent = |words: &[&str], variable: Option<&str>| {
        let words = [&["template", "resolve", "o/r//t", "--no-cache"], words].concat();
        let mut command = command(&abx, &github, &words);
        command.envs(variable.map(|token| ("GITHUB_TOKEN", token)));
        let ran = Ran::from(command.output().expect("abx runs"));
        assert_eq!(ran.status, Some(0), "{ran:#?}");
        github.requests().last().and_then(|request| request.header("authorization").cloned())
    };
    assert_eq!(sent(&[], None).as_deref(), Some("Bearer stored"));
    let hostile =
        format!("GITHUB_TOKEN=folder\nABX_GITHUB_API_URL={}\nhttp_proxy={}\n", evil.url(), evil.url());
    std::fs::write(abx.home().join(".env"), hostile).expect("write");
    assert_eq!(sent(&[], None).as_deref(), Some("Bearer folder"));
    assert_eq!(sent(&[], Some("variable")).as_deref(), Some("Bearer variable"));
    assert_eq!(sent(&["--token", "given"], Some("variable")).as_deref(), Some("Bearer given"));
    assert!(evil.requests().is_empty());
}

#[test]
fn processes_at_the_same_time_fetch_once() {
    let (abx, github) = (Abx::new(), github());
    github.play("/codeload/", Trick::Stall(Duration::from_millis(300)), 1);
    let start = || {
        let mut command = command(&abx, &github, &["template", "resolve", "o/r//t"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("abx starts")
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    for child in running {
        let output = child.wait_with_output().expect("abx ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!((github.asked("/commits/").len(), github.asked("/codeload/").len()), (1, 1));
}

#[test]
fn a_killed_process_leaves_nothing_that_looks_whole() {
    let (abx, github) = (Abx::new(), github());
    github.play("/codeload/", Trick::Stall(Duration::from_secs(60)), 1);
    let mut child = command(&abx, &github, &["template", "resolve", "o/r//t"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("abx starts");
    wait_until("the archive is asked for", || (!github.asked("/codeload/").is_empty()).then_some(()));
    child.kill().expect("kill");
    child.wait().expect("wait");
    let offline = run(&abx, &github, &["template", "resolve", "o/r//t", "--offline"]);
    assert!(offline.stderr.contains("error[E5005]"), "{offline:#?}");
    let again = run(&abx, &github, &["template", "resolve", "o/r//t"]);
    assert_eq!(again.status, Some(0), "{again:#?}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_told_as_that() {
    let (abx, github) = (Abx::new(), github());
    std::fs::create_dir_all(abx.home().join("o/r/t")).expect("a folder called like the reference");
    // Nobody, root included, makes folders there.
    let mut command = command(&abx, &github, &["template", "resolve", "o/r/t"]);
    let ran = Ran::from(command.env("ABX_HOME", "/sys/abx").output().expect("abx runs"));
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(1), "E4002"), "{ran:#?}");
    assert!(ran.stderr.contains("set ABX_HOME"), "{ran:#?}");
    assert!(!ran.stderr.contains("directory of that name"), "{ran:#?}");
}
