//! Looking at sandboxes, and what is said where there is none.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::support::Abx;
use crate::support::sandbox::Sandbox;

#[test]
fn nothing_runs_at_first() {
    let abx = Abx::new();
    let ran = abx.run(&["list"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "ID  NAME  TEMPLATE  STATUS  CREATED  ENDS  PORTS\n");
    let ran = abx.run(&["list", "--all", "--json"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "[]\n", ""));
    assert_eq!(abx.run(&["kill", "--all"]).status, Some(0));
}

#[test]
fn an_unknown_sandbox_is_e2009() {
    let abx = Abx::new();
    for words in [
        &["info", "nope"][..],
        &["logs", "nope"],
        &["kill", "nope"],
        &["pause", "nope"],
        &["resume", "nope"],
        &["upload", "nope", "/etc/hostname", "x"],
        &["download", "nope", "x", "y"],
    ] {
        let ran = abx.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""), "{words:?}: {ran:?}");
        assert!(ran.stderr.starts_with("error[E2009]: no sandbox `nope`\n"), "{words:?}: {}", ran.stderr);
    }
    let object = abx.run(&["info", "nope", "--json"]).error_object();
    assert_eq!(object["code"], "E2009");
    assert!(object["line"].is_null());
}

#[test]
fn a_command_that_never_ran_is_status_125() {
    let abx = Abx::new();
    for words in [&["exec", "nope", "--", "true"][..], &["connect", "nope"]] {
        let ran = abx.run(words);
        assert_eq!(ran.status, Some(125), "{words:?}: {ran:?}");
        assert!(ran.stderr.starts_with("error[E2009]: "), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn every_sandbox_that_cannot_be_killed_is_named() {
    let ran = Abx::new().run(&["kill", "one", "two"]);
    assert_eq!(ran.status, Some(4));
    for id in ["one", "two"] {
        assert!(ran.stderr.contains(&format!("no sandbox `{id}`")), "{}", ran.stderr);
    }
}

#[test]
fn a_live_sandbox_is_listed_and_shown() {
    let abx = Abx::new();
    let Some(web) = Sandbox::start(&abx) else { return };
    let ran = abx.run(&["list"]);
    assert_eq!(
        ran.stdout,
        format!(
            "ID                    NAME  TEMPLATE    STATUS   CREATED  ENDS   PORTS\n\
             {}  web   base:1.0.0  running  2m ago   in 7m  127.0.0.1:8080->80\n",
            web.id
        )
    );
    let ran = abx.run(&["info", &web.id[..6]]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    for line in ["name          web\n", "memory        2 GiB\n", "ports         127.0.0.1:8080->80\n"] {
        assert!(ran.stdout.contains(line), "no `{line}` in {}", ran.stdout);
    }
    let info: serde_json::Value =
        serde_json::from_str(&abx.run(&["info", "web", "--json"]).stdout).expect("json");
    assert_eq!((info["id"].as_str(), info["status"].as_str()), (Some(web.id.as_str()), Some("running")));
    assert_eq!(info["ports"][0]["host"], "127.0.0.1:8080");
}

#[test]
fn logs_are_shown_and_followed_to_the_end() {
    let abx = Abx::new();
    let Some(web) = Sandbox::start(&abx) else { return };
    let mut log = std::fs::OpenOptions::new().append(true).open(web.dir().join("log.jsonl")).expect("log");
    let mut say = |line: &str| {
        writeln!(log, r#"{{"time":"2026-01-01T00:00:00.000Z","stream":"stdout","line":"{line}"}}"#)
            .expect("log");
    };
    say("first");
    assert_eq!(abx.run(&["logs", "web"]).stdout, "first\n");
    assert_eq!(abx.run(&["logs", "web", "-v"]).stdout, "2026-01-01T00:00:00.000Z stdout: first\n");

    let mut follow = abx.command(&["logs", "-f", "web"]).stdout(Stdio::piped()).spawn().expect("abx runs");
    let mut lines = BufReader::new(follow.stdout.take().expect("stdout")).lines();
    let mut next = || lines.next().map(|line| line.expect("text"));
    assert_eq!(next().as_deref(), Some("first"));
    say("second");
    assert_eq!(next().as_deref(), Some("second"));
    say("last");
    std::fs::remove_dir_all(web.dir()).expect("the sandbox ends");
    assert_eq!(next().as_deref(), Some("last"));
    assert_eq!(next(), None);
    assert_eq!(follow.wait().expect("wait").code(), Some(0));
}
