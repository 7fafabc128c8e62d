//! Every value is explained with the place it comes from.

use abx_spec::{explain, parse};

const ROOT: &str = "version: \"1\"
metadata: {name: root, description: all of it, tags: [a, b]}
base: {image: debian:12}
build:
  apt_install: [curl]
  env:
    MODE: slow
    PATH: /opt:$PATH
resources: {memory: 4096}
network: {ports: [80]}
sandbox:
  readiness_probe: {type: tcp, port: 80}
";
const LEAF: &str = "name: leaf
base: root
tags: [b, c]
ports: [80, 443]
packages:
  pip: [rich]
env: {MODE: fast}
entrypoint: serve
";

fn rows(files: &[(&str, &str)]) -> Vec<String> {
    let parsed: Vec<_> = files.iter().map(|(text, file)| parse(text, file).expect("sound").spec).collect();
    let members: Vec<_> = parsed.iter().zip(files).map(|(spec, (text, file))| (spec, *text, *file)).collect();
    explain(&members)
        .into_iter()
        .map(|row| {
            let place = row.place.map_or("default".to_owned(), |at| format!("{}:{}", at.file, at.line));
            format!("{} = {} ({place})", row.key, row.value)
        })
        .collect()
}

#[test]
fn ancestors_lines_and_defaults_are_named() {
    assert_eq!(
        rows(&[(ROOT, "root"), (LEAF, "leaf")]),
        [
            "metadata.name = \"leaf\" (leaf:1)",
            "metadata.version = \"0.0.0\" (default)",
            "metadata.description = \"all of it\" (root:2)",
            "metadata.tags = \"a\" (root:2)",
            "metadata.tags = \"b\" (root:2)",
            "metadata.tags = \"c\" (leaf:3)",
            "base.image = \"debian:12\" (root:3)",
            "build.apt_install = \"curl\" (root:5)",
            "build.env.PATH = \"/opt:$PATH\" (root:8)",
            "base.from = \"root\" (leaf:2)",
            "build.pip_install = \"rich\" (leaf:6)",
            "build.env.MODE = \"fast\" (leaf:7)",
            "resources.cpu = 1.0 (default)",
            "resources.memory = 4096 (root:9)",
            "resources.disk = 10240 (default)",
            "resources.timeout = 600 (default)",
            "resources.idle_timeout = 300 (default)",
            "network.ports = 80 (root:10)",
            "network.ports = 443 (leaf:4)",
            "network.public = false (default)",
            "sandbox.mode = \"ephemeral\" (default)",
            "sandbox.workdir = \"/app\" (default)",
            "sandbox.user = \"user\" (default)",
            "sandbox.startup_command = \"serve\" (leaf:8)",
            "sandbox.readiness_probe = {\"type\":\"tcp\",\"port\":80,\"interval\":0.2,\"timeout\":30.0} (root:12)",
            "capabilities = [\"shell\",\"files\",\"code\"] (default)",
        ]
    );
}

#[test]
fn a_null_that_drops_the_parents_value_is_a_statement() {
    let leaf =
        "version: \"1\"\nmetadata: {name: leaf}\nbase: {from: root}\nsandbox:\n  readiness_probe: null\n";
    let rows = rows(&[(ROOT, "root"), (leaf, "leaf")]);
    assert!(rows.contains(&"sandbox.readiness_probe = null (leaf:5)".to_owned()), "{rows:#?}");
}

#[test]
fn a_policy_for_egress_is_shown_as_it_holds() {
    let text = "version: \"1\"\nmetadata: {name: t}\nbase: {image: debian}\nnetwork:\n  egress:\n    allow: [A.com]\n";
    let rows = rows(&[(text, "t")]);
    let row = rows.iter().find(|row| row.starts_with("network.egress = ")).expect("a row");
    for part in [r#""allow":["a.com"]"#, r#""deny":[]"#, r#""default":"deny""#, "(t:5)"] {
        assert!(row.contains(part), "{row}");
    }
}
