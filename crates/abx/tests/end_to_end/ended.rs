//! Why a sandbox ended, with the number that was hit, and what it said last.

use abx_test::{TestContext, wait_until};
use serde_json::Value;

use super::shared;

/// What is known of it once it has ended.
fn ended(abx: &TestContext, id: &str) -> Value {
    wait_until("an end", || {
        let info = abx.run(&["info", id, "--json"]).json();
        (info["status"] == "ended").then_some(info)
    })
}

#[track_caller]
fn assert_ended(abx: &TestContext, id: &str, reason: &str, limit: Value) {
    let info = ended(abx, id);
    assert_eq!((&info["reason"], &info["limit"]), (&reason.into(), &limit), "{info}");
    let all = abx.run(&["list", "--all", "--json"]).json();
    let listed = all.as_array().expect("a list").iter().find(|one| one["id"] == id).expect("remembered");
    assert_eq!(listed["reason"], reason);
}

#[test]
fn time_and_idleness_are_told_with_their_seconds() {
    let Some(abx) = shared() else { return };
    let late = abx.create(&["base", "--network", "none", "--timeout", "1"]);
    let idle = abx.create(&["base", "--network", "none", "--idle-timeout", "1"]);
    assert_ended(&abx, &late.id, "timeout", 1.into());
    assert_ended(&abx, &idle.id, "idle", 1.into());
    let text = abx.run(&["info", &late.id]).success();
    assert!(text.contains("ended: timeout") && text.contains("limit") && text.contains("1s"), "{text}");
    abx.run(&["exec", &late.id, "--", "true"]).failure(125, "E2009");
}

#[test]
fn a_startup_command_that_is_killed_for_memory_ends_its_sandbox() {
    let Some(abx) = shared() else { return };
    let eats = "echo hungry; until [ -e /tmp/go ]; do sleep 0.05; done; exec tail /dev/zero";
    let template = abx.template(
        "hungry",
        &format!("base:\n  from: base\nresources:\n  memory: 64\nsandbox:\n  startup_command: '{eats}'\n"),
    );
    let sandbox = abx.create(&[&template, "--network", "none"]);
    sandbox.sh("touch /tmp/go");
    assert_ended(&abx, &sandbox.id, "memory", 64.into());
    let name = abx.name("greedy");
    let greedy = abx.template(
        "greedy",
        "base:\n  from: base\nresources:\n  memory: 64\nsandbox:\n  startup_command: exec tail /dev/zero\n\
         \x20 readiness_probe: {type: tcp, port: 1}\n",
    );
    let said = abx.run(&["create", &greedy, "--network", "none", "--name", &name]).failure(6, "E3010");
    assert!(said.contains("64 MB") && said.contains("--memory 128"), "{said}");
    assert_ended(&abx, ended(&abx, &name)["id"].as_str().expect("an id"), "memory", 64.into());
}

#[test]
fn somebody_elses_memory_is_not_the_startup_commands() {
    let Some(abx) = shared() else { return };
    let template = abx.template(
        "bystander",
        "base:\n  from: base\nresources:\n  memory: 64\nsandbox:\n  startup_command: 'until [ -e /tmp/go ]; do sleep 0.05; done; exit 1'\n",
    );
    let sandbox = abx.create(&[&template, "--network", "none"]);
    assert_eq!(sandbox.exec(&["tail", "/dev/zero"]).status, Some(137));
    sandbox.sh("touch /tmp/go");
    wait_until("its end", || {
        abx.run(&["logs", &sandbox.id, "-v"]).success().contains("startup command ended").then_some(())
    });
    assert_eq!(sandbox.sh("echo here"), "here\n");
}

#[test]
fn a_startup_command_that_fails_on_a_full_disk_ends_its_sandbox() {
    let Some(abx) = shared() else { return };
    let fills = "until [ -e /tmp/go ]; do sleep 0.05; done; cat /dev/zero > ~/full";
    let template = abx.template(
        "full",
        &format!("base:\n  from: base\nresources:\n  disk: 256\nsandbox:\n  startup_command: '{fills}'\n"),
    );
    let sandbox = abx.create(&[&template, "--network", "none"]);
    sandbox.sh("touch /tmp/go");
    assert_ended(&abx, &sandbox.id, "disk", 256.into());
    let text = abx.run(&["info", &sandbox.id]).success();
    assert!(text.contains("No space left"), "{text}");
}

#[test]
fn who_stays_unhealthy_ends() {
    let Some(abx) = shared() else { return };
    let check = "healthcheck:\n  command: 'echo out of order; false'\n  interval: 0.1\n  retries: 2\n";
    let template = abx.template("ill", &format!("base:\n  from: base\n{check}"));
    let mut command = abx.command(&["create", &template, "--network", "none"]);
    let ran = abx_test::run({
        command.env("ABX_UNHEALTHY_TIMEOUT", "1");
        command
    });
    let sandbox = abx.adopt(ran.success().trim());
    assert_ended(&abx, &sandbox.id, "unhealthy", 2.into());
    assert_eq!(ended(&abx, &sandbox.id)["detail"], "out of order");
}

#[test]
fn a_daemon_that_is_gone_is_a_crash_and_a_monitor_that_is_gone_is_lost() {
    let Some(abx) = shared() else { return };
    for (key, reason) in [("init", "crashed"), ("monitor", "monitor_lost")] {
        let sandbox = abx.create(&["base", "--network", "none"]);
        let record = abx.state().join("sandboxes").join(&sandbox.id).join("sandbox.json");
        let record: Value = serde_json::from_slice(&std::fs::read(record).expect("a record")).expect("json");
        let pid = record[key].as_u64().expect("a pid").to_string();
        assert!(std::process::Command::new("kill").args(["-KILL", &pid]).status().expect("kill").success());
        wait_until("an end", || {
            abx.run(&["doctor", "--clean", "--json"]);
            (abx.run(&["info", &sandbox.id, "--json"]).status == Some(0)).then_some(())
        });
        assert_ended(&abx, &sandbox.id, reason, Value::Null);
    }
}

#[test]
fn the_end_of_a_log_stays() {
    let Some(abx) = shared() else { return };
    let says = "i=0; while [ $i -lt 3000 ]; do echo line $i of what is said here; i=$((i+1)); done; touch /tmp/said; sleep 1000";
    let template = abx.template(
        "talker",
        &format!(
            "base:\n  from: base\nsandbox:\n  startup_command: '{says}'\n\
             \x20 readiness_probe: {{type: exec, command: test -e /tmp/said}}\n"
        ),
    );
    let sandbox = abx.create(&[&template, "--network", "none"]);
    wait_until("the last line", || {
        abx.run(&["logs", &sandbox.id]).success().contains("line 2999 ").then_some(())
    });
    abx.run(&["kill", &sandbox.id]).success();
    let kept = abx.run(&["logs", &sandbox.id]).success();
    assert!(kept.ends_with("line 2999 of what is said here\n"), "the last lines");
    assert!(kept.len() < 64 << 10 && !kept.contains("line 0 of"), "{} bytes", kept.len());
    assert!(kept.lines().all(|line| line.starts_with("line ")), "whole lines");
    // Following it is over at once.
    assert_eq!(abx.run(&["logs", "-f", &sandbox.id]).success(), kept);
}
