//! A persistent sandbox outlives its monitor and the host's power: the next command that names it starts it again.

use std::path::PathBuf;
use std::process::Command;

use abx_test::{LiveSandbox, TestContext, wait_until};
use serde_json::Value;

use super::{shared, with_debian};

const PERSISTENT: &str = "sandbox:\n  mode: persistent\n";

/// A persistent template on `base`, with more of its `sandbox` section.
fn template(abx: &TestContext, name: &str, more: &str) -> String {
    abx.template(name, &format!("base:\n  from: base\n{PERSISTENT}{more}"))
}

fn entry(abx: &TestContext, id: &str) -> PathBuf {
    abx.state().join("sandboxes").join(id)
}

fn record(abx: &TestContext, id: &str) -> Value {
    let text = std::fs::read(entry(abx, id).join("sandbox.json")).expect("a record");
    serde_json::from_slice(&text).expect("json")
}

/// Kills the monitor, and with it everything inside, as nothing of ours would.
fn lose_monitor(abx: &TestContext, sandbox: &LiveSandbox<'_>) {
    let monitor = record(abx, &sandbox.id)["monitor"].as_u64().expect("a pid");
    let status = Command::new("kill").args(["-KILL", &monitor.to_string()]).status().expect("kill");
    assert!(status.success());
    wait_until("a stop", || (sandbox.info()["status"] == "stopped").then_some(()));
}

#[test]
fn a_lost_monitor_costs_the_processes_and_nothing_else() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: 'date +%s%N > ~/started; echo started; sleep 1000'\n\
                   \x20 readiness_probe: {type: exec, command: 'test -s ~/started'}\n";
    let name = abx.name("kept");
    let words = [&template(&abx, "kept", startup), "--name", &name, "--port", "0:8080", "--env", "K=V"];
    let sandbox = abx.create(&words);
    let first = sandbox.sh("cat ~/started");
    sandbox.sh("echo mine > ~/file; rm /etc/debian_version 2>/dev/null || true");
    sandbox.root_sh("echo root > /root/file; chown 1234:1234 /root/file; rm /etc/issue");
    sandbox.sh("nohup setsid sleep 1015 >/dev/null 2>&1 &");
    let before = sandbox.info();
    lose_monitor(&abx, &sandbox);

    let info = sandbox.info();
    assert_eq!((&info["reason"], &info["name"]), (&"monitor_lost".into(), &before["name"]));
    let row = abx.run(&["list"]).success();
    assert!(row.lines().any(|row| row.contains(&name) && row.contains("stopped: monitor lost")), "{row}");
    // It stands in nobody's way, and nothing of it is left over.
    abx.run(&["doctor", "--clean", "--json"]);
    assert_eq!(sandbox.info()["status"], "stopped");
    let taken = abx.run(&["create", "base", "--network", "none", "--name", &name]).failure(1, "E2000");
    assert!(taken.contains(&name), "{taken}");

    let ran = abx.run(&["exec", &name, "--", "sh", "-c", "cat ~/file; echo $K; pgrep -x sleep | wc -l"]);
    assert_eq!(ran.stderr, format!("started {}\n", sandbox.id));
    let said = ran.success();
    // The startup command's own sleep is the only one.
    assert_eq!(said, "mine\nV\n1\n");
    assert_eq!(
        sandbox.root_sh("cat /root/file; stat -c %u:%g /root/file; test ! -e /etc/issue"),
        "root\n1234:1234\n"
    );
    assert_ne!(sandbox.sh("cat ~/started"), first, "the startup command has run again");
    let after = sandbox.info();
    assert_eq!(after["status"], "running");
    for key in ["id", "name", "created", "ports", "image", "memory", "timeout"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    let logs = abx.run(&["logs", &sandbox.id]).success();
    assert_eq!(logs.matches("started").count(), 2, "{logs}");
}

#[test]
fn it_survives_a_restart_of_the_host() {
    let Some(abx) = with_debian() else { return };
    let plain = abx.template("plain", &format!("base:\n  image: debian:bookworm-slim\n{PERSISTENT}"));
    let words = [&plain, "--network", "none", "--timeout", "500"];
    let sandbox = abx.create(&words);
    // With the ids of another slot afterwards: this one's is taken by the next.
    sandbox.root_sh("echo kept > /kept; chown 1000:1000 /kept; mkdir /d; touch /d/a");
    lose_monitor(&abx, &sandbox);
    let _other = abx.create(&[&plain, "--network", "none"]);
    let mut record = record(&abx, &sandbox.id);
    record["boot"] = "an-earlier-one".into();
    std::fs::write(entry(&abx, &sandbox.id).join("sandbox.json"), record.to_string()).expect("write");
    let info = abx.run(&["info", &sandbox.id]).success();
    assert!(info.contains("the host was restarted"), "{info}");
    // Its image is still needed, and so are its layers.
    abx.run(&["template", "cache", "clean", "--kind", "image"]).success();
    let resumed = abx.run(&["resume", &sandbox.id]);
    assert_eq!(resumed.stderr, format!("resumed {}\n", sandbox.id));
    resumed.success();
    assert_eq!(
        sandbox.root_sh("cat /kept; stat -c %u /kept; rm -r /d; echo more >> /kept; ls -d /d 2>&1 || true"),
        "kept\n1000\nls: cannot access '/d': No such file or directory\n"
    );
    // Once more, and with what was written since.
    lose_monitor(&abx, &sandbox);
    assert_eq!(sandbox.root_sh("cat /kept; test ! -e /d"), "kept\nmore\n");
    let ends = sandbox.info()["ends"].as_u64().expect("a timeout of its own");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    assert!((now + 400..=now + 500).contains(&ends), "{ends} at {now}");
}

#[test]
fn of_many_who_start_it_at_once_one_does() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&[&template(&abx, "rushed", ""), "--network", "none"]);
    sandbox.sh("echo mine > ~/file");
    lose_monitor(&abx, &sandbox);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| sandbox.exec(&["sh", "-c", "cat ~/file; stat -c %Y /proc/1"])))
            .collect();
        let said: Vec<String> = runs.into_iter().map(|run| run.join().expect("a run").success()).collect();
        assert!(said.iter().all(|one| *one == said[0]), "one process 1: {said:?}");
        assert!(said[0].starts_with("mine\n"), "{said:?}");
    });
    let monitors = std::fs::read_dir("/proc").expect("processes").flatten().filter(|process| {
        let words = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        words.starts_with("abx-monitor") && words.contains(&sandbox.id)
    });
    assert_eq!(monitors.count(), 1);
}

#[test]
fn one_that_is_told_to_end_by_the_host_stops() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&[&template(&abx, "asked", ""), "--network", "none"]);
    sandbox.sh("echo mine > ~/file");
    let monitor = record(&abx, &sandbox.id)["monitor"].as_u64().expect("a pid");
    assert!(Command::new("kill").arg(monitor.to_string()).status().expect("kill").success());
    wait_until("a stop", || (sandbox.info()["status"] == "stopped").then_some(()));
    assert_eq!(sandbox.info()["reason"], "stopped");
    assert_eq!(sandbox.sh("cat ~/file"), "mine\n");
}

#[test]
fn one_that_is_stopped_is_killed_for_good() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&[&template(&abx, "gone", ""), "--network", "none"]);
    lose_monitor(&abx, &sandbox);
    let said = abx.run(&["pause", &sandbox.id]).failure(1, "E2000");
    assert!(said.contains("is stopped") && said.contains("abx resume"), "{said}");
    abx.run(&["kill", &sandbox.id]).success();
    assert!(!entry(&abx, &sandbox.id).exists());
    assert_eq!(sandbox.info()["reason"], "killed");
    abx.run(&["exec", &sandbox.id, "--", "true"]).failure(125, "E2009");
    abx.run(&["resume", &sandbox.id]).failure(4, "E2009");
}

#[test]
fn one_that_does_not_get_ready_again_stays_stopped() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: 'test ! -e ~/broken || { echo no such luck; exit 3; }; touch /tmp/up; sleep 1000'\n\
                   \x20 readiness_probe: {type: exec, command: test -e /tmp/up}\n";
    let sandbox = abx.create(&[&template(&abx, "moody", startup), "--network", "none"]);
    sandbox.sh("touch ~/broken; rm /tmp/up");
    lose_monitor(&abx, &sandbox);
    let said = abx.run(&["exec", &sandbox.id, "--", "true"]).failure(125, "E2010");
    assert!(said.contains("no such luck"), "{said}");
    let info = sandbox.info();
    assert_eq!((&info["status"], &info["reason"]), (&"stopped".into(), &"startup_failed".into()));
    assert!(info["detail"].as_str().is_some_and(|detail| detail.contains("status 3")), "{info}");
}

#[test]
fn one_that_was_never_ready_is_not_kept() {
    let Some(abx) = shared() else { return };
    let failing =
        template(&abx, "never", "  startup_command: exit 4\n  readiness_probe: {type: tcp, port: 1}\n");
    let name = abx.name("never");
    abx.run(&["create", &failing, "--network", "none", "--name", &name]).failure(5, "E2010");
    let info = abx.run(&["info", &name, "--json"]).json();
    assert_eq!((&info["status"], &info["reason"]), (&"ended".into(), &"startup_failed".into()));
}
