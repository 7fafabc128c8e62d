//! `abx pool`: sandboxes that wait for whoever wants one.

use std::collections::BTreeSet;

use abx_test::{TestContext, wait_until};
use serde_json::Value;

use super::with_debian;

const DEBIAN: &str = "base:\n  image: debian:bookworm-slim\n";

/// Ends the pools of a test's own state with it.
struct Pools<'a>(&'a TestContext);

impl Drop for Pools<'_> {
    fn drop(&mut self) {
        for pool in list(self.0) {
            let _ = self
                .0
                .command(&["-q", "pool", pool["reference"].as_str().unwrap_or(""), "--size", "0"])
                .output();
        }
    }
}

fn list(abx: &TestContext) -> Vec<Value> {
    abx.run(&["pool", "--json"]).json().as_array().expect("a list").clone()
}

fn pooled(abx: &TestContext) -> Vec<String> {
    let all = abx.run(&["list", "--all", "--json"]).json();
    let all = all.as_array().expect("a list").iter().filter(|one| one["status"] == "pooled");
    all.map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
}

fn ready(abx: &TestContext, size: usize) -> Vec<String> {
    wait_until("a full pool", || {
        let full = list(abx).first().is_some_and(|pool| pool["ready"] == size && pool["size"] == size);
        let waiting = pooled(abx);
        (full && waiting.len() == size).then_some(waiting)
    })
}

/// Ends what a test has created; pools are left alone.
fn kill_all(abx: &TestContext) {
    abx.run(&["kill", "--all"]).success();
}

#[test]
fn a_create_takes_one_that_waits_and_another_takes_its_place() {
    let Some(abx) = with_debian() else { return };
    let _pools = Pools(&abx);
    let template = abx.template("plain", DEBIAN);
    let made = abx.run(&["pool", &template, "--size", "2"]);
    assert!(made.stderr.ends_with("wait\n"), "{made:#?}");
    let waiting = ready(&abx, 2);
    // Nobody sees them who does not ask for all, and nobody can use them.
    assert_eq!(abx.run(&["list", "--json"]).success(), "[]\n");
    for words in
        [["exec", &waiting[0], "--", "true"].as_slice(), &["pause", &waiting[0]], &["kill", &waiting[0]]]
    {
        assert_ne!(abx.run(words).status, Some(0), "{words:?}");
    }
    let name = "mine";
    let words = [&template, "--name", name, "--env", "K=V", "--timeout", "1000", "--idle-timeout", "500"];
    let sandbox = abx.create(&words);
    assert!(waiting.contains(&sandbox.id), "{} of {waiting:?}", sandbox.id);
    let info = sandbox.info();
    assert_eq!((&info["status"], &info["name"]), (&"running".into(), &name.into()));
    assert_eq!((&info["timeout"], &info["idle_timeout"]), (&1000.into(), &500.into()));
    let left = info["ends"].as_u64().expect("a timeout") - info["created"].as_u64().expect("a time");
    assert_eq!(left, 1000, "its time begins when it is taken");
    assert_eq!(sandbox.sh("echo $K"), "V\n");
    let taken = abx.run(&["create", &template, "--name", name]).failure(1, "E2000");
    assert!(taken.contains(name), "{taken}");
    assert!(!ready(&abx, 2).contains(&sandbox.id));
    // What a ready one cannot be given makes a sandbox of its own.
    let waiting = ready(&abx, 2);
    let other = abx.create(&[&template, "--network", "none"]);
    let larger = abx.create(&[&template, "--memory", "300"]);
    assert!(!waiting.contains(&other.id) && !waiting.contains(&larger.id));
    assert_eq!(larger.info()["memory"], 300);
    abx.run(&["pool", &template, "--size", "0"]).success();
    assert_eq!(abx.run(&["pool"]).success(), "TEMPLATE  READY  SIZE  STATUS\n");
    wait_until("the end of those that waited", || pooled(&abx).is_empty().then_some(()));
    assert_eq!(sandbox.sh("echo here"), "here\n", "what was taken is its taker's");
    kill_all(&abx);
}

#[test]
fn nothing_is_handed_out_twice() {
    let Some(abx) = with_debian() else { return };
    let _pools = Pools(&abx);
    let template = abx.template("rush", DEBIAN);
    abx.run(&["pool", &template, "--size", "5"]).success();
    let waiting: BTreeSet<String> = ready(&abx, 5).into_iter().collect();
    let ids: Vec<String> = std::thread::scope(|scope| {
        let creates: Vec<_> = (0..20)
            .map(|_| scope.spawn(|| abx.run(&["create", &template]).success().trim().to_owned()))
            .collect();
        creates.into_iter().map(|create| create.join().expect("a create")).collect()
    });
    let distinct: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(distinct.len(), 20);
    assert!(waiting.is_subset(&distinct), "all that waited were taken: {waiting:?} {distinct:?}");
    for id in &ids {
        assert_eq!(abx.run(&["exec", id, "--", "echo", "here"]).success(), "here\n");
    }
    kill_all(&abx);
    ready(&abx, 5);
}

#[test]
fn a_changed_template_replaces_those_that_wait() {
    let Some(abx) = with_debian() else { return };
    let _pools = Pools(&abx);
    let template = abx.template("fresh", DEBIAN);
    abx.run(&["pool", &template, "--size", "2"]).success();
    let old = ready(&abx, 2);
    let env = "build:\n  env:\n    VERSION: two\n";
    abx.template("fresh", &format!("{DEBIAN}{env}"));
    // No old one is handed out, whether the keeper knows already or not.
    let sandbox = abx.create(&[&template]);
    assert!(!old.contains(&sandbox.id));
    assert_eq!(sandbox.sh("echo $VERSION"), "two\n");
    let new = wait_until("others", || {
        let waiting = pooled(&abx);
        (waiting.len() == 2 && waiting.iter().all(|id| !old.contains(id))).then_some(waiting)
    });
    ready(&abx, 2);
    let sandbox = abx.create(&[&template]);
    assert!(new.contains(&sandbox.id) && sandbox.sh("echo $VERSION") == "two\n");
    kill_all(&abx);
}

#[test]
fn a_keeper_that_is_killed_takes_those_that_wait_along() {
    let Some(abx) = with_debian() else { return };
    let _pools = Pools(&abx);
    let template = abx.template("orphan", DEBIAN);
    abx.run(&["pool", &template, "--size", "2"]).success();
    ready(&abx, 2);
    let taken = abx.create(&[&template]);
    let keeper = list(&abx)[0]["keeper"].to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &keeper]).status().expect("kill").success());
    wait_until("their end", || pooled(&abx).is_empty().then_some(()));
    assert_eq!(taken.sh("echo here"), "here\n");
    assert!(abx.run(&["pool"]).success().contains("its keeper is gone"));
    // A create does not depend on it.
    let other = abx.create(&[&template]);
    assert_eq!(other.sh("echo here"), "here\n");
    let left = abx.run(&["doctor", "--clean", "--json"]).json();
    assert!(left["leftovers"].to_string().contains("whose keeper is gone"), "{left}");
    assert_eq!(list(&abx), [] as [Value; 0]);
    // And it can begin anew.
    abx.run(&["pool", &template, "--size", "1"]).success();
    ready(&abx, 1);
    kill_all(&abx);
}

#[test]
fn a_pool_of_what_cannot_be_created_is_none() {
    let Some(abx) = with_debian() else { return };
    let _pools = Pools(&abx);
    abx.run(&["pool", "./no-such", "--size", "2"]).failure(4, "E4001");
    let failing = abx.template(
        "failing",
        &format!("{DEBIAN}sandbox:\n  startup_command: echo no luck; exit 3\n  readiness_probe: {{type: tcp, port: 1}}\n"),
    );
    let said = abx.run(&["pool", &failing, "--size", "2"]).failure(5, "E2010");
    assert!(said.contains("no luck"), "{said}");
    wait_until("its end", || list(&abx).is_empty().then_some(()));
    abx.run(&["pool", &failing, "--size", "0"]).failure(4, "E2001");
    assert_eq!(abx.run(&["pool", "base"]).status, Some(2), "a size is missing");
}

#[test]
fn who_claims_one_under_a_name_has_that_as_its_host_name() {
    let Some(abx) = with_debian() else { return };
    let _pools = Pools(&abx);
    let template = abx.template("named", DEBIAN);
    abx.run(&["pool", &template, "--size", "1"]).success();
    let waiting = ready(&abx, 1);
    let sandbox = abx.create(&[&template, "--name", "web-1"]);
    assert_eq!(sandbox.id, waiting[0], "out of the pool");
    assert_eq!(sandbox.sh("hostname; cat /etc/hostname"), "web-1\nweb-1\n");
    assert!(sandbox.sh("cat /etc/hosts").starts_with("127.0.0.1\tlocalhost web-1\n"));
    assert_ne!(
        sandbox.exec(&["sh", "-c", "echo other > /etc/hosts"]).status,
        Some(0),
        "it stays read-only inside"
    );
}
