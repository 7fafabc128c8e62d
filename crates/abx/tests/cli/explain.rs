//! `abx template explain`.

use std::fs;

use crate::support::Abx;

const PARENT: &str =
    "version: \"1\"\nmetadata: {name: parent}\nbase: {image: debian:12}\nresources: {memory: 4096}\n";
const CHILD: &str = "name: child\nbase: ../parent\nports: [80]\n";

fn packages() -> Abx {
    let abx = Abx::new();
    for (name, text) in [("parent", PARENT), ("child", CHILD)] {
        fs::create_dir(abx.home().join(name)).expect("mkdir");
        fs::write(abx.home().join(name).join("template.yaml"), text).expect("write");
    }
    abx
}

#[test]
fn every_value_says_which_file_line_option_or_default_it_is_from() {
    let ran = packages().run(&["template", "explain", "./child", "--cpu", "2"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let line = |key: &str| {
        let line = ran
            .stdout
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_else(|| panic!("{key}\n{}", ran.stdout));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("metadata.name"), "metadata.name child ./child/template.yaml:1");
    assert_eq!(line("base.image"), "base.image debian:12 ./parent/template.yaml:3");
    assert_eq!(line("base.from"), "base.from ../parent ./child/template.yaml:2");
    assert_eq!(line("resources.memory"), "resources.memory 4096 ./parent/template.yaml:4");
    assert_eq!(line("resources.cpu"), "resources.cpu 2.0 --cpu");
    assert_eq!(line("network.ports"), "network.ports 80 ./child/template.yaml:3");
    assert_eq!(line("capabilities"), "capabilities shell, files, code default");
}

#[test]
fn json_has_the_places_apart() {
    let ran = packages().run(&["template", "explain", "./child", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let row = |key: &str| rows.as_array().expect("rows").iter().find(|row| row["key"] == key).expect("a row");
    let file = serde_json::json!({ "file": { "file": "./parent/template.yaml", "line": 4, "column": 13 } });
    assert_eq!(row("resources.memory")["origin"], file);
    assert_eq!(row("resources.cpu")["origin"], "default");
}
