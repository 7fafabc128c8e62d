//! `abx logs`: what the startup command says.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use abx_test::wait_until;

use super::shared;

#[test]
fn logs_show_what_was_said_and_follow_until_the_end() {
    let Some(abx) = shared() else { return };
    let startup =
        "echo first; echo problem >&2; until [ -e /tmp/go ]; do sleep 0.05; done; echo second; sleep 1000";
    let template =
        abx.template("talking", &format!("base:\n  from: base\nsandbox:\n  startup_command: '{startup}'\n"));
    let sandbox = abx.create(&[&template, "--network", "none"]);
    let both = |text: &str| text.contains("first\n") && text.contains("problem\n");
    wait_until("the first lines", || both(&abx.run(&["logs", &sandbox.id]).success()).then_some(()));
    let value = abx.run(&["logs", &sandbox.id, "--json"]).json();
    let lines = value["lines"].as_array().expect("lines");
    let problem = lines.iter().find(|line| line["line"] == "problem").expect("the line");
    assert_eq!(problem["stream"], "stderr");
    assert!(problem["time"].as_str().expect("a time").ends_with('Z'));

    let mut command = abx.command(&["logs", "-f", &sandbox.id]);
    let mut follower = command.stdout(Stdio::piped()).spawn().expect("abx");
    let mut lines = BufReader::new(follower.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().map(|line| line.expect("text"));
    let mut seen = vec![next().expect("a line"), next().expect("a line")];
    seen.sort();
    assert_eq!(seen, ["first", "problem"]);
    sandbox.sh("touch /tmp/go");
    assert_eq!(next().as_deref(), Some("second"));
    abx.run(&["kill", &sandbox.id]).success();
    assert_eq!(next(), None);
    assert_eq!(follower.wait().expect("wait").code(), Some(0));
}
