//! `base.from`: what a child makes of its parent.

use serde_json::json;

use super::{empty, shared, with_debian};

#[test]
fn a_child_adds_and_replaces_as_the_reference_says() {
    let Some(abx) = shared() else { return };
    abx.template(
        "parent",
        "base:
  from: base
build:
  env: {WORD: parent, KEPT: kept, LIST: a}
  copy: [{src: file, dest: /app/file}]
network:
  ports: [8000]
resources: {cpu: 0.5, memory: 512, timeout: 100}
capabilities: [shell]
sandbox:
  workdir: /srv
  startup_command: touch /tmp/parent
",
    );
    abx.write("parent/file", "of the parent\n");
    let child = abx.template(
        "child",
        "base:
  from: ../parent
build:
  env: {WORD: child, LIST: \"$LIST:b\"}
network:
  ports: [9000]
resources: {memory: 768}
sandbox:
  startup_command: touch /tmp/child
  readiness_probe: {type: exec, command: test -e /tmp/child}
",
    );
    let sandbox = abx.create(&[&child]);
    let info = sandbox.info();
    for (key, value) in [
        ("template", json!("child:0.0.0")),
        ("cpu", json!(0.5)),
        ("memory", json!(768)),
        ("timeout", json!(100)),
        ("workdir", json!("/srv")),
        ("capabilities", json!(["shell"])),
    ] {
        assert_eq!(info[key], value, "{key}: {info:#}");
    }
    let guests: Vec<_> =
        info["ports"].as_array().expect("ports").iter().map(|port| port["guest"].clone()).collect();
    assert_eq!(guests, [json!(8000), json!(9000)]);
    assert_eq!(
        sandbox.sh("echo $WORD $KEPT $LIST; cat /app/file; pwd"),
        "child kept a:b\nof the parent\n/srv\n"
    );
    assert_eq!(sandbox.exec(&["test", "-e", "/tmp/parent"]).status, Some(1), "the parent's command ran too");
}

#[test]
fn a_parents_layers_are_used_and_its_steps_not_run_again() {
    let Some(abx) = with_debian() else { return };
    let step = "head -c 8 /dev/urandom | od -An -tx8 > /chance";
    let parent =
        abx.template("parent", &format!("base:\n  image: debian:bookworm-slim\nbuild:\n  run: [{step}]\n"));
    let child = abx.template("child", "base:\n  from: ../parent\nbuild:\n  run: [cp /chance /copied]\n");
    let read = |template: &str, path: &str| {
        abx.run(&["-q", "create", "--rm", "--network", "none", template, "--", "cat", path]).success()
    };
    let chance = read(&parent, "/chance");
    assert_eq!(read(&child, "/copied"), chance);
    assert_eq!(read(&child, "/chance"), chance);
}

#[test]
fn circles_and_absent_parents_are_told_with_their_place() {
    let abx = empty();
    abx.template("a", "base:\n  from: ../b\n");
    abx.template("b", "base:\n  from: ../a\n");
    let stderr = abx.run(&["create", "./a"]).failure(2, "E2007");
    assert!(stderr.contains("circle") && stderr.contains("template.yaml:5:9"), "{stderr}");
    abx.template("orphan", "base:\n  from: ../nobody\n");
    let stderr = abx.run(&["create", "./orphan"]).failure(4, "E2001");
    assert!(stderr.contains("orphan/template.yaml:5:9") && stderr.contains("nobody"), "{stderr}");
    for number in 0..10 {
        let parent = if number == 9 { "base".to_owned() } else { format!("../deep{}", number + 1) };
        abx.template(&format!("deep{number}"), &format!("base:\n  from: {parent}\n"));
    }
    abx.run(&["create", "./deep0"]).failure(2, "E2007");
    assert!(!abx.state().exists());
}

#[test]
fn a_fault_of_the_parent_is_shown_in_the_parents_file() {
    let abx = empty();
    abx.template("parent", "base:\n  image: debian:bookworm-slim\nbulid:\n  run: [x]\n");
    let child = abx.template("child", "base:\n  from: ../parent\n");
    let stderr = abx.run(&["create", &child]).failure(2, "E2004");
    assert!(stderr.contains("parent/template.yaml:6:1") && stderr.contains("`build`"), "{stderr}");
}
