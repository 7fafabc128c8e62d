//! From `list` to `kill`: what a sandbox does, why it ended, and that nothing of it stays.

use std::path::Path;
use std::time::Duration;

use abx_test::{TestContext, wait_until};
use serde_json::Value;

use super::{shared, with_debian};

const DEBIAN: &str = "base:\n  image: debian:bookworm-slim\n";

/// Why the sandbox ended; `None` while it lives.
fn reason(abx: &TestContext, id: &str) -> Option<String> {
    let all = abx.run(&["list", "--all", "--json"]).json();
    let found = all.as_array()?.iter().find(|sandbox| sandbox["id"] == id)?.clone();
    found["reason"].as_str().map(str::to_owned)
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array()
        .expect("a list")
        .iter()
        .map(|sandbox| sandbox["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[test]
fn list_shows_the_live_and_all_the_ended_too_newest_first() {
    let Some(abx) = with_debian() else { return };
    let plain = abx.template("plain", DEBIAN);
    assert_eq!(abx.run(&["list"]).success(), "ID  NAME  TEMPLATE  STATUS  CREATED  ENDS  PORTS\n");
    let first = abx.create(&[&plain, "--network", "none", "--name", "first"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let second = abx.create(&[&plain, "--network", "none"]);
    assert_eq!(ids(&abx.run(&["list", "--json"]).json()), [second.id.clone(), first.id.clone()]);
    let table = abx.run(&["list"]).success();
    let row = table.lines().find(|line| line.starts_with(&first.id)).expect("a row");
    assert!(row.contains("first") && row.contains("plain:0.0.0") && row.contains("running"), "{table}");
    abx.run(&["kill", "first"]).success();
    assert_eq!(ids(&abx.run(&["list", "--json"]).json()), std::slice::from_ref(&second.id));
    assert_eq!(ids(&abx.run(&["list", "--all", "--json"]).json()), [second.id.clone(), first.id.clone()]);
    let table = abx.run(&["list", "--all"]).success();
    let row = table.lines().find(|line| line.starts_with(&first.id)).expect("a row");
    assert!(row.contains("ended: killed") && row.trim_end().ends_with(" ago"), "{table}");
    // A sandbox that is gone is remembered by its name, but not used.
    let info = abx.run(&["info", "first"]).success();
    assert!(info.contains(&first.id) && info.contains("ended: killed"), "{info}");
    let stderr = abx.run(&["pause", "first"]).failure(4, "E2009");
    assert!(stderr.contains("killed"), "{stderr}");
}

#[test]
fn a_prefix_must_be_unique() {
    let Some(abx) = with_debian() else { return };
    let plain = abx.template("plain", DEBIAN);
    let sandboxes: Vec<_> = (0..37).map(|_| abx.create(&[&plain, "--network", "none"])).collect();
    // Two of 37 ids begin alike.
    let is_twin = |id: &str| sandboxes.iter().filter(|other| other.id[..1] == id[..1]).count() > 1;
    let twin =
        sandboxes.iter().find(|sandbox| is_twin(&sandbox.id)).expect("more ids than letters and digits");
    let stderr = abx.run(&["info", &twin.id[..1]]).failure(4, "E2009");
    assert!(stderr.contains(&twin.id), "the candidates are named: {stderr}");
    abx.run(&["info", &twin.id[..12]]).success();
    abx.run(&["kill", "--all"]).success();
    assert_eq!(abx.run(&["list", "--json"]).success(), "[]\n");
    drop(sandboxes);
    assert_nothing_is_left(&abx);
}

/// Entries of the state, control groups and processes.
fn assert_nothing_is_left(abx: &TestContext) {
    let entries = std::fs::read_dir(abx.state().join("sandboxes")).expect("state").flatten();
    // The lock of those who make entries stays.
    let entries: Vec<_> = entries.filter(|entry| entry.file_name() != ".making").collect();
    assert!(entries.is_empty(), "{entries:?}");
    let state = abx.state().to_string_lossy().into_owned();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains(&state), "{mounts}");
    for process in std::fs::read_dir("/proc").expect("processes").flatten() {
        let words = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        assert!(!words.contains(&state), "{words}");
    }
}

fn groups_of(id: &str) -> Vec<std::path::PathBuf> {
    let hierarchies =
        std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten().map(|entry| entry.path());
    let places = hierarchies.chain([Path::new("/sys/fs/cgroup").to_owned()]);
    places.map(|hierarchy| hierarchy.join("abx").join(id)).filter(|group| group.exists()).collect()
}

#[test]
fn kill_leaves_no_process_group_or_entry() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base"]);
    sandbox.sh("nohup setsid sleep 1005 >/dev/null 2>&1 &");
    assert!(!groups_of(&sandbox.id).is_empty());
    let ran = abx.run(&["kill", &sandbox.id]);
    assert_eq!(ran.stderr, format!("killed {}\n", sandbox.id));
    assert_eq!(ran.success(), "");
    assert_eq!(groups_of(&sandbox.id), [] as [std::path::PathBuf; 0]);
    assert!(!abx.state().join("sandboxes").join(&sandbox.id).exists());
    abx.run(&["kill", &sandbox.id]).failure(4, "E2009");
    abx.run(&["exec", &sandbox.id, "--", "true"]).failure(125, "E2009");
}

#[test]
fn several_are_killed_at_once_and_one_that_is_not_there_spares_nobody() {
    let Some(abx) = shared() else { return };
    let (one, other) =
        (abx.create(&["base", "--network", "none"]), abx.create(&["base", "--network", "none"]));
    abx.run(&["kill", &one.id, "no-such-sandbox", &other.id]).failure(4, "E2009");
    for id in [&one.id, &other.id] {
        assert_eq!(reason(&abx, id).as_deref(), Some("killed"));
    }
}

#[test]
fn the_timeout_ends_a_sandbox_however_busy() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--timeout", "2", "--name", &abx.name("late")]);
    let ran = sandbox.exec(&["sh", "-c", "while :; do echo busy; sleep 0.1; done"]);
    assert_eq!(ran.status, Some(137), "{ran:#?}");
    assert!(ran.stderr.contains("error[E"), "it is said that the sandbox ended: {ran:#?}");
    assert_eq!(wait_until("its end", || reason(&abx, &sandbox.id)), "timeout");
    let stderr = abx.run(&["pause", &sandbox.id]).failure(4, "E2009");
    assert!(stderr.contains("timeout: 2 s"), "{stderr}");
}

#[test]
fn the_idle_timeout_ends_an_ephemeral_sandbox_that_nobody_uses() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--idle-timeout", "2"]);
    assert_eq!(wait_until("its end", || reason(&abx, &sandbox.id)), "idle");
}

#[test]
fn a_silent_command_in_the_foreground_is_use() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--idle-timeout", "1"]);
    assert_eq!(sandbox.exec(&["sh", "-c", "sleep 3; echo end"]).success(), "end\n");
    // What was left in the background is none.
    sandbox.sh("nohup sleep 1009 >/dev/null 2>&1 &");
    assert_eq!(wait_until("its end", || reason(&abx, &sandbox.id)), "idle");
}

#[test]
fn a_command_that_says_something_now_and_then_keeps_its_sandbox() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none", "--idle-timeout", "1"]);
    let ran = sandbox.exec(&["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.4; done; echo end"]);
    assert!(ran.success().ends_with("end\n"));
}

#[test]
fn a_persistent_sandbox_pauses_when_idle_and_goes_on_where_it_was() {
    let Some(abx) = shared() else { return };
    let template = abx.template("kept", "base:\n  from: base\nsandbox:\n  mode: persistent\n");
    let sandbox = abx.create(&[&template, "--network", "none", "--idle-timeout", "1"]);
    assert_eq!(sandbox.info()["mode"], "persistent");
    wait_until("paused", || (sandbox.info()["status"] == "paused").then_some(()));
    abx.run(&["resume", &sandbox.id]).success();
    assert_eq!(sandbox.sh("echo awake"), "awake\n");
}

#[test]
fn paused_means_that_nothing_runs() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    sandbox.sh("nohup sh -c 'while :; do echo x >> /tmp/ticks; sleep 0.05; done' >/dev/null 2>&1 &");
    wait_until("ticks", || (sandbox.exec(&["test", "-s", "/tmp/ticks"]).status == Some(0)).then_some(()));
    abx.run(&["pause", &sandbox.id]).success();
    assert_eq!(sandbox.info()["status"], "paused");
    let listed = abx.run(&["list"]).success();
    assert!(listed.lines().any(|line| line.starts_with(&sandbox.id) && line.contains("paused")), "{listed}");
    abx.run(&["resume", &sandbox.id]).success();
    assert_eq!(sandbox.info()["status"], "running");
    sandbox.sh("before=$(wc -l < /tmp/ticks); sleep 0.5; test $(wc -l < /tmp/ticks) -gt $before");
    // A paused one can be ended too.
    abx.run(&["pause", &sandbox.id]).success();
    abx.run(&["kill", &sandbox.id]).success();
    assert_eq!(groups_of(&sandbox.id), [] as [std::path::PathBuf; 0]);
}

#[test]
fn a_name_is_one_sandboxs_at_a_time() {
    let Some(abx) = shared() else { return };
    let name = abx.name("mine");
    let sandbox = abx.create(&["base", "--network", "none", "--name", &name]);
    let stderr = abx.run(&["create", "base", "--network", "none", "--name", &name]).failure(1, "E2000");
    assert!(stderr.contains(&format!("abx kill {name}")), "{stderr}");
    abx.run(&["kill", &name]).success();
    let again = abx.create(&["base", "--network", "none", "--name", &name]);
    assert_ne!(again.id, sandbox.id);
    for wrong in ["-x", "a/b", "", "a b", "../x"] {
        let ran = abx.run(&["create", "base", "--network", "none", &format!("--name={wrong}")]);
        assert!(ran.status != Some(0) && ran.stdout.is_empty(), "{wrong:?}: {ran:#?}");
    }
}

#[test]
fn the_health_check_is_shown() {
    let Some(abx) = shared() else { return };
    let check = "healthcheck:\n  command: test -e /tmp/well\n  interval: 0.1\n  retries: 2\n";
    let template = abx.template("checked", &format!("base:\n  from: base\n{check}"));
    let sandbox = abx.create(&[&template, "--network", "none"]);
    wait_until("unhealthy", || (sandbox.info()["health"] == "unhealthy").then_some(()));
    let listed = abx.run(&["list"]).success();
    assert!(
        listed.lines().any(|line| line.starts_with(&sandbox.id) && line.contains("unhealthy")),
        "{listed}"
    );
    sandbox.sh("touch /tmp/well");
    wait_until("healthy", || (sandbox.info()["health"] == "healthy").then_some(()));
}

#[test]
fn failures_in_the_start_period_do_not_count_until_a_check_has_passed() {
    let Some(abx) = shared() else { return };
    let check = "healthcheck:\n  command: echo >> /tmp/checks; test -e /tmp/well\n  interval: 0.1\n  retries: 1\n  \
                 start_period: 86400\n";
    let template = abx.template("slow-start", &format!("base:\n  from: base\n{check}"));
    let sandbox = abx.create(&[&template, "--network", "none"]);
    let checks =
        || sandbox.sh("cat /tmp/checks 2>/dev/null | wc -l").trim().parse::<u32>().expect("a number");
    wait_until("some checks", || (checks() > 3).then_some(()));
    assert_eq!(sandbox.info()["health"], "starting");
    sandbox.sh("touch /tmp/well");
    wait_until("healthy", || (sandbox.info()["health"] == "healthy").then_some(()));
    sandbox.sh("rm /tmp/well");
    wait_until("unhealthy", || (sandbox.info()["health"] == "unhealthy").then_some(()));
}

#[test]
fn a_paused_sandbox_is_not_taken_for_unhealthy() {
    let Some(abx) = shared() else { return };
    let check = "healthcheck:\n  command: exit 0\n  interval: 0.1\n  timeout: 0.1\n  retries: 1\n";
    let template = abx.template("frozen", &format!("base:\n  from: base\n{check}"));
    let sandbox = abx.create(&[&template, "--network", "none"]);
    wait_until("healthy", || (sandbox.info()["health"] == "healthy").then_some(()));
    abx.run(&["pause", &sandbox.id]).success();
    // Longer than a check that gets no answer is awaited.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(sandbox.info()["health"], "healthy");
    abx.run(&["resume", &sandbox.id]).success();
    assert_eq!(sandbox.sh("echo awake"), "awake\n");
}

#[test]
fn a_script_of_the_package_is_its_health_check() {
    let Some(abx) = shared() else { return };
    let template = abx.template("scripted", "base:\n  from: base\n");
    abx.write("scripted/scripts/healthcheck.sh", "#!/bin/sh\ntest -e /tmp/well\n");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    assert_eq!(sandbox.info()["health"], "starting");
}

#[test]
fn using_a_paused_sandbox_wakes_it() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    abx.write("note", "hello\n");
    abx.run(&["pause", &sandbox.id]).success();
    assert_eq!(sandbox.sh("echo awake"), "awake\n");
    assert_eq!(sandbox.info()["status"], "running");
    abx.run(&["pause", &sandbox.id]).success();
    abx.run(&["upload", &sandbox.id, "note", "note"]).success();
    assert_eq!(sandbox.sh("cat ~/note"), "hello\n");
}

#[test]
fn a_command_whose_sandbox_is_ended_says_so() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| sandbox.exec(&["sh", "-c", "touch /tmp/begun; sleep 1007"]));
        wait_until("a start", || {
            (sandbox.exec(&["test", "-e", "/tmp/begun"]).status == Some(0)).then_some(())
        });
        abx.run(&["kill", &sandbox.id]).success();
        let ran = runs.join().expect("a run");
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(137), ""), "{ran:#?}");
        assert!(ran.stderr.starts_with("error["), "{ran:#?}");
    });
}
