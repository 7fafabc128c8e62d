//! `template info` and `template list`.

use abx_test::github::LoopbackGithub;
use abx_test::registry::LoopbackRegistry;

use crate::support::{Abx, Ran};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const TEMPLATE: &str = "\
version: \"1\"
metadata:
  name: hello
  description: Says hello
  version: \"1.2.0\"
  author: somebody
  license: MIT
  tags: [greeting]
base: {from: base}
resources: {memory: 512}
network: {ports: [8080]}
agent:
  description: Suitable for greetings
  triggers: [hello, greet]
  instructions: |
    one
    two
    three
    four
    five
";

#[test]
fn a_built_in_template_has_its_table_of_versions() {
    let abx = Abx::new();
    let ran = abx.run(&["template", "info", "python"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "Template: python-base");
    assert!(lines[1].starts_with("Description: "), "{lines:#?}");
    let at = lines.iter().position(|line| *line == "Versions:").expect("versions");
    let header: Vec<&str> = lines[at + 1].split_whitespace().collect();
    assert_eq!(header[..4], ["TAG", "DATE", "SIZE", "PYTHON"], "{lines:#?}");
    let row: Vec<&str> = lines[at + 2].split_whitespace().collect();
    assert_eq!((row[0], *row.last().expect("cells")), ("1.0.0", "latest"), "{lines:#?}");
    // The columns stand below their titles.
    assert_eq!(lines[at + 1].find("DATE"), lines[at + 2].find(row[1]), "{lines:#?}");
    let ran = abx.run(&["template", "info", "python-base", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["kind"], "built-in");
    assert_eq!(value["versions"]["columns"][0], "python");
    assert_eq!(value["versions"]["rows"][0]["is_latest"], true);
    assert!(value["size"].is_null(), "{value}");
    assert!(value["agents_md"].as_str().is_some_and(|text| text.contains("python")), "{value}");
}

#[test]
fn a_template_of_a_repository_is_told_without_being_built() {
    let (abx, github) = (Abx::new(), LoopbackGithub::start());
    let files = [
        ("t/template.yaml", TEMPLATE),
        ("t/AGENTS.md", "# How\n\nSo.\n"),
        ("t/examples/a.sh", "#!/bin/sh\n"),
    ];
    github.put("o/r", "HEAD", COMMIT, &files);
    for name in ["t/v1.2.0", "t/v1.10.0", "t/v2.0.0-rc.1", "other/v9.0.0"] {
        github.tag("o/r", name, COMMIT, false);
    }
    let run = |words: &[&str]| {
        let mut command = abx.command(&[&["template", "info"], words].concat());
        Ran::from(command.env("ABX_GITHUB_API_URL", github.url()).output().expect("abx runs"))
    };
    let ran = run(&["o/r//t"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    for text in [
        "Template: hello\nDescription: Says hello\nVersion: 1.2.0\n",
        "Author: somebody\nLicense: MIT\n",
        "Base: base < debian:bookworm-slim\n",
        "memory 512 MiB",
        "Ports: 8080\nCapabilities: shell, files, code\nSize: not built here\n",
        "For agents: Suitable for greetings\nTriggers: shell, bash",
        "  three\n  … 2 more lines (--full shows them)\nAGENTS.md: 3 lines (--full shows them)\n",
        "Examples:\n  examples/a.sh (10 B)\n",
    ] {
        assert!(ran.stdout.contains(text), "{text:?} in {}", ran.stdout);
    }
    let tags: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("  t/v")).collect();
    assert_eq!(tags, ["  t/v2.0.0-rc.1", "  t/v1.10.0      latest", "  t/v1.2.0"]);
    let full = run(&["o/r//t", "--full", "--offline"]);
    assert!(full.stdout.contains("  five\nAGENTS.md:\n  # How\n\n  So.\n"), "{full:#?}");
}

#[test]
fn a_folder_and_what_is_not_there() {
    let abx = Abx::new();
    std::fs::create_dir(abx.home().join("mine")).expect("mkdir");
    std::fs::write(abx.home().join("mine/template.yaml"), TEMPLATE).expect("write");
    let ran = abx.run(&["template", "info", "./mine", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["kind"], "directory");
    assert_eq!(value["template"]["name"], "hello");
    assert_eq!(value["resources"]["memory"], 512);
    assert_eq!(value["versions"]["rows"], serde_json::json!([]));
    let ran = abx.run(&["template", "info", "./other"]);
    assert_eq!(ran.status, Some(4), "{ran:#?}");
}

#[test]
fn an_image_is_told_without_being_pulled() {
    let (abx, registry) = (Abx::new(), LoopbackRegistry::start());
    registry.put_image(
        "team/app",
        "1.0",
        &serde_json::json!({ "architecture": "amd64", "os": "linux" }),
        &[],
    );
    let reference = format!("acr://{}/team/app:1.0", registry.host());
    let ran = abx.run(&["template", "info", &reference, "--json"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&value["kind"], &value["tag"]), (&"image".into(), &"1.0".into()));
    assert!(value["digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{value}");
    assert!(value["template"]["name"].as_str().is_some_and(|name| name.contains("team/app")), "{value}");
    assert!(value["size"].is_null());
}

#[test]
fn the_list_has_sizes_and_dates_where_something_is_built() {
    let abx = Abx::new();
    let ran = abx.run(&["template", "list"]);
    let header: Vec<&str> = ran.stdout.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(header, ["NAME", "TAG", "KIND", "SIZE", "CREATED", "IMAGE", "DESCRIPTION"]);
    let ran = abx.run(&["template", "list", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&value[0]["name"], &value[0]["size"]), (&"base".into(), &serde_json::Value::Null));
}
