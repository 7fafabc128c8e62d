//! `abx create`: its result, its options, its exit status.

use serde_json::json;

use super::{empty, shared};

#[test]
fn without_a_command_the_id_and_a_newline_are_all_of_stdout() {
    let Some(abx) = shared() else { return };
    let ran = abx.run(&["-q", "create", "base", "--network", "none"]);
    let _sandbox = abx.adopt(ran.stdout.trim_end());
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    let id = ran.stdout.strip_suffix('\n').expect("a newline");
    assert_eq!(id.len(), 20, "{id:?}");
    assert!(id.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit()), "{id:?}");
}

#[test]
fn under_json_it_is_one_value_with_all_there_is_to_know() {
    let Some(abx) = shared() else { return };
    let ran = abx.run(&["create", "base", "--network", "none", "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    let value = ran.json();
    let sandbox = abx.adopt(value["id"].as_str().expect("an id"));
    assert_eq!(value["template"], "base:1.0.0");
    assert_eq!(value["status"], "running");
    assert_eq!(value["network"], false);
    assert_eq!(value, sandbox.info());
}

#[test]
fn a_commands_output_and_status_are_its_own() {
    let Some(abx) = shared() else { return };
    let script = "echo out; echo err >&2; exit 7";
    let ran = abx.run(&["-q", "create", "--rm", "base", "--network", "none", "--", "sh", "-c", script]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(7), "out\n", "err\n"));
}

#[test]
fn statuses_tell_what_became_of_the_command() {
    let Some(abx) = shared() else { return };
    for (command, status) in [
        (&["no-such-program"][..], 127),
        (&["/etc/passwd"], 126),
        (&["/tmp"], 126),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["sh", "-c", "kill -KILL $$"], 137),
        (&["sh", "-c", "exit 255"], 255),
        (&["true"], 0),
    ] {
        let words = [&["create", "--rm", "--network", "none", "base", "--"], command].concat();
        let ran = abx.run(&words);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{command:?}: {ran:#?}");
    }
}

#[test]
fn what_fails_before_the_command_is_status_125_and_without_a_command_its_own() {
    let abx = empty();
    abx.run(&["create", "no-such-template", "--", "true"]).failure(125, "E2001");
    abx.run(&["create", "no-such-template"]).failure(4, "E2001");
    let ran = abx.run(&["create", "base", "--port", "nonsense", "--", "true"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran:#?}");
}

#[test]
fn with_rm_nothing_is_left_and_without_it_runs_on() {
    let Some(abx) = shared() else { return };
    let (gone, kept) = (abx.name("gone"), abx.name("kept"));
    abx.run(&["create", "--rm", "--network", "none", "--name", &gone, "base", "--", "true"]).success();
    assert_eq!(abx.run(&["info", &gone, "--json"]).json()["reason"], "killed");
    let ran = abx.run(&["create", "--network", "none", "--name", &kept, "base", "--", "echo", "hello"]);
    let sandbox = abx.adopt(&kept);
    assert!(ran.stderr.contains(&format!("abx kill {kept}")), "{ran:#?}");
    assert_eq!(ran.success(), "hello\n");
    assert_eq!(sandbox.info()["status"], "running");
}

#[test]
fn every_option_reaches_the_sandbox() {
    let Some(abx) = shared() else { return };
    let name = abx.name("options");
    let words = [
        "base",
        "--name",
        &name,
        "--env",
        "GREETING=hello world",
        "--env",
        "EMPTY=",
        "--env",
        "LANG=C",
        "--cpu",
        "0.5",
        "--memory",
        "1GiB",
        "--disk",
        "300",
        "--timeout",
        "77",
        "--idle-timeout",
        "55",
        "--port",
        "0:8000",
    ];
    let sandbox = abx.create(&words);
    let info = sandbox.info();
    for (key, value) in [
        ("name", json!(name)),
        ("cpu", json!(0.5)),
        ("memory", json!(1024)),
        ("disk", json!(300)),
        ("timeout", json!(77)),
        ("idle_timeout", json!(55)),
        ("network", json!(true)),
    ] {
        assert_eq!(info[key], value, "{key}: {info:#}");
    }
    assert_eq!(info["ports"][0]["guest"], 8000, "{info:#}");
    let ends = info["ends"].as_u64().expect("an end") - info["created"].as_u64().expect("a begin");
    assert_eq!(ends, 77);
    assert_eq!(sandbox.sh("echo \"$GREETING|${EMPTY-unset}|$LANG\""), "hello world||C\n");
    assert_eq!(sandbox.sh("hostname; cat /etc/hostname"), format!("{name}\n{name}\n"));
}

#[test]
fn zero_seconds_mean_never() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--timeout", "0", "--idle-timeout", "0"]);
    let info = sandbox.info();
    assert_eq!(
        (&info["ends"], &info["timeout"], &info["idle_timeout"]),
        (&json!(null), &json!(0), &json!(0))
    );
    let shown = abx.run(&["info", &sandbox.id]).success();
    assert!(shown.lines().any(|line| line.starts_with("ends ") && line.ends_with(" never")), "{shown}");
}

#[test]
fn what_is_built_starts_without_a_word_beside_the_result() {
    let Some(abx) = shared() else { return };
    let ran =
        abx.run(&["create", "--offline", "--rm", "--network", "none", "python-base", "--", "echo", "hello"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "hello\n", ""));
}

#[test]
fn standard_input_reaches_the_command_under_i_only() {
    let Some(abx) = shared() else { return };
    let input = abx.write("input", "some words\n");
    for (options, expected) in [(&["-i"][..], "some words\n"), (&[], "")] {
        let words = [&["create", "--rm", "--network", "none"], options, &["base", "--", "cat"]].concat();
        let mut command = abx.command(&words);
        command.stdin(std::fs::File::open(&input).expect("input"));
        assert_eq!(abx_test::run(command).success(), expected, "{options:?}");
    }
}

#[test]
fn creates_side_by_side_do_not_disturb_each_other() {
    let Some(abx) = shared() else { return };
    std::thread::scope(|scope| {
        for number in 0..6 {
            let abx = &abx;
            scope.spawn(move || {
                let text = format!("number {number}");
                let ran = abx.run(&["create", "--rm", "base", "--", "echo", &text]);
                assert_eq!(ran.success(), format!("{text}\n"));
            });
        }
    });
}
