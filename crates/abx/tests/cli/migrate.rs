//! `abx template migrate`.

use std::fs;

use crate::support::Abx;

const OLDER: &str =
    "# mine\nname: t\nbase: debian:12\nsystem_packages: [curl]\ncustom_commands:\n  hi: echo hi\n";

fn package(files: &[(&str, &str)]) -> Abx {
    let abx = Abx::new();
    fs::create_dir(abx.home().join("t")).expect("mkdir");
    for (name, text) in files {
        fs::write(abx.home().join("t").join(name), text).expect("write");
    }
    abx
}

#[test]
fn an_older_file_becomes_one_that_is_valid_and_stays_beside_it() {
    let abx = package(&[("template.yaml", OLDER)]);
    let ran = abx.run(&["template", "validate", "./t"]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stderr.contains("`abx template migrate` rewrites the file"), "{}", ran.stderr);
    let ran = abx.run(&["template", "migrate", "./t", "--json"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["commands"], serde_json::json!(["hi"]));
    let read = |name: &str| fs::read_to_string(abx.home().join("t").join(name)).expect(name);
    assert_eq!(read("template.yaml.orig"), OLDER);
    assert!(read("template.yaml").starts_with("version: \"1\"\n"));
    assert!(read("commands.py").contains("@sandbox.register\ndef hi() -> dict:\n"));
    let ran = abx.run(&["template", "validate", "./t"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "t 0.0.0 is valid\n"), "{}", ran.stderr);
    let ran = abx.run(&["template", "migrate", "./t"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), "./t has the full form already\n"));
}

#[test]
fn nothing_is_written_where_something_is_in_the_way() {
    for (files, expected) in [
        (&[("template.yaml", OLDER), ("commands.py", "mine")][..], "error[E4000]: cannot use"),
        (&[("template.yaml", "name: t\nbase: b\nnope: 1\n")], "error[E2004]: unknown key `nope`"),
        (&[], "error[E4001]: cannot use"),
    ] {
        let abx = package(files);
        let ran = abx.run(&["template", "migrate", "./t"]);
        assert!(ran.stderr.starts_with(expected), "{}", ran.stderr);
        let there = fs::read_dir(abx.home().join("t")).expect("list").count();
        assert_eq!(there, files.len());
        for (name, text) in files {
            assert_eq!(fs::read_to_string(abx.home().join("t").join(name)).expect(name), *text);
        }
    }
}
