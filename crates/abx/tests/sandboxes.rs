//! Commands about sandboxes where there is none.

mod support;

use support::Abx;

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
