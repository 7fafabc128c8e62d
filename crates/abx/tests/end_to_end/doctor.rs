//! `abx doctor`: what the host lacks, and what is left of those that were killed.

use std::process::{Command, Stdio};

use abx_test::{run, wait_until};

use super::{empty, shared, with_debian};

const DEBIAN: &str = "base:\n  image: debian:bookworm-slim\n";

#[test]
fn the_report_names_each_feature_and_changes_nothing() {
    let abx = empty();
    let text = abx.run(&["doctor"]).success();
    for feature in ["namespaces", "overlay", "cgroup", "seccomp"] {
        assert!(text.to_lowercase().contains(feature), "no {feature}: {text}");
    }
    let value = abx.run(&["doctor", "--json"]).json();
    assert!(value["checks"].as_array().expect("checks").len() > 5, "{value:#}");
    assert_eq!(value["cleaned"], false);
    assert!(!abx.state().exists(), "a look makes no state");
}

#[test]
fn a_lack_is_shown_with_the_command_that_mends_it() {
    let Some(abx) = shared() else { return };
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]);
    let of_abx = abx.command(&["doctor", "--json"]);
    command
        .arg(of_abx.get_program())
        .args(of_abx.get_args())
        .env("ABX_HOME", abx.state())
        .env("HOME", abx.folder());
    let ran = run(command);
    assert_eq!(ran.status, Some(1), "{ran:#?}");
    let value = ran.json();
    let lacking: Vec<_> =
        value["checks"].as_array().expect("checks").iter().filter(|check| check["ok"] == false).collect();
    assert!(!lacking.is_empty(), "{value:#}");
    assert!(lacking.iter().all(|check| check["fix"].is_string()), "{lacking:#?}");
}

#[test]
fn clean_removes_what_a_killed_monitor_left_and_spares_the_living() {
    let Some(abx) = with_debian() else { return };
    let plain = abx.template("plain", DEBIAN);
    let (living, dead) = (abx.create(&[&plain]), abx.create(&[&plain, "--name", "dead"]));
    let record =
        std::fs::read(abx.state().join("sandboxes").join(&dead.id).join("sandbox.json")).expect("record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("json");
    let pid = record["monitor"].as_u64().expect("a pid").to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().expect("kill").success());
    wait_until("its end", || (!abx.run(&["list", "--json"]).success().contains(&dead.id)).then_some(()));
    abx.run(&["exec", "dead", "--", "true"]).failure(125, "E2009");
    let report = abx.run(&["doctor"]).success();
    assert!(report.contains(&dead.id) && report.contains("abx doctor --clean"), "{report}");
    let cleaned = abx.run(&["doctor", "--clean"]).success();
    assert!(cleaned.contains(&dead.id), "{cleaned}");
    assert!(abx.run(&["doctor"]).success().contains("nothing is left"), "twice is once");
    assert!(!abx.state().join("sandboxes").join(&dead.id).exists());
    let all = abx.run(&["list", "--all"]).success();
    assert!(all.lines().any(|line| line.starts_with(&dead.id) && line.contains("monitor lost")), "{all}");
    assert_eq!(living.sh("echo alive"), "alive\n");
    // The name is free again.
    abx.create(&[&plain, "--name", "dead"]);
}

#[test]
fn clean_is_safe_beside_running_creates() {
    let Some(abx) = with_debian() else { return };
    let plain = abx.template("plain", DEBIAN);
    std::thread::scope(|scope| {
        let creators: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    (0..6).for_each(|_| {
                        abx.run(&["create", "--rm", &plain, "--", "true"]).success();
                    })
                })
            })
            .collect();
        while creators.iter().any(|creator| !creator.is_finished()) {
            let report = abx.run(&["doctor", "--clean", "--json"]).json();
            assert_eq!(report["leftovers"], serde_json::json!([]), "{report:#}");
        }
    });
}

#[test]
fn an_interrupted_create_leaves_nothing() {
    let Some(abx) = with_debian() else { return };
    let startup = "sandbox:\n  startup_command: sleep 1000\n  readiness_probe: {type: tcp, port: 8000}\n";
    let template = abx.template("waiting", &format!("{DEBIAN}{startup}"));
    for signal in ["INT", "TERM", "KILL"] {
        let mut command = abx.command(&["create", &template]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("abx");
        wait_until("a start", || {
            (abx.run(&["list", "--json"]).json()[0]["status"] == "starting").then_some(())
        });
        Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().expect("kill");
        let status = child.wait().expect("wait");
        match signal {
            "INT" => assert_eq!(status.code(), Some(130)),
            "TERM" => assert_eq!(status.code(), Some(143)),
            _ => assert_eq!(status.code(), None),
        }
        wait_until("the end of the sandbox", || {
            (abx.run(&["list", "--json"]).success() == "[]\n").then_some(())
        });
        wait_until("nothing left", || {
            abx.run(&["doctor"]).success().contains("nothing is left").then_some(())
        });
    }
}
