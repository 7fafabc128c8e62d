//! What is told of a template with a Dockerfile before anything is built.

use std::path::PathBuf;

use crate::support::Abx;

fn write(abx: &Abx, path: &str, text: &str) {
    let path: PathBuf = abx.home().join(path);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
    std::fs::write(path, text).expect("write");
}

#[test]
fn every_fault_of_both_files_is_shown_at_its_line() {
    let abx = Abx::new();
    write(&abx, "t/template.yaml", "version: \"1\"\nmetadata: {name: t}\nresources: {cpus: 1}\n");
    write(&abx, "t/Dockerfile", "FROM debian:12\nCOPPY a b\nCOPY a b\n");
    for words in
        [["template", "validate", "./t"], ["template", "explain", "./t"], ["template", "build", "./t"]]
    {
        let ran = abx.run(&words);
        assert_eq!((ran.status, ran.error_code().as_str()), (Some(2), "E2004"), "{words:?}");
        for part in ["./t/template.yaml:3:13", "./t/Dockerfile:2:1", "did you mean `COPY`?"] {
            assert!(ran.stderr.contains(part), "no {part}: {}", ran.stderr);
        }
    }
    write(&abx, "t/template.yaml", "version: \"1\"\nmetadata: {name: t}\nbase: {image: \"debian:11\"}\n");
    write(&abx, "t/Dockerfile", "FROM debian:12\n");
    let ran = abx.run(&["template", "validate", "./t"]);
    assert!(
        ran.stderr.contains("./t/template.yaml:3:15") && ran.stderr.contains("./t/Dockerfile:1:6"),
        "{ran:?}"
    );
}

#[test]
fn warnings_are_told_and_hints_where_they_are_wanted() {
    let abx = Abx::new();
    write(&abx, "t/template.yaml", "version: \"1\"\nmetadata: {name: t}\nbuild: {pip_install: [flask]}\n");
    write(&abx, "t/Dockerfile", "FROM debian\nEXPOSE 80\nCMD [python, main.py]\n");
    let ran = abx.run(&["template", "validate", "./t"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "t 0.0.0 is valid\n"));
    assert!(
        ran.stderr.contains("warning: this looks like an array") && ran.stderr.contains("./t/Dockerfile:3")
    );
    assert!(!ran.stderr.contains("hint:"), "{}", ran.stderr);
    let ran = abx.run(&["-v", "template", "validate", "./t"]);
    for part in
        ["hint: there are ports", "hint: no fixed version: `flask`", "hint: `debian` is another image"]
    {
        assert!(ran.stderr.contains(part), "no {part}: {}", ran.stderr);
    }
    let ran = abx.run(&["template", "validate", "./t", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(
        (value["warnings"].as_array().map(Vec::len), value["hints"].as_array().map(Vec::len)),
        (Some(1), Some(3))
    );
}

#[test]
fn sarif_has_every_finding_with_its_region() {
    let abx = Abx::new();
    let sarif = |status| {
        let ran = abx.run(&["template", "validate", "./t", "--format", "sarif"]);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(status), ""));
        serde_json::from_str::<serde_json::Value>(&ran.stdout).expect("JSON")
    };
    write(&abx, "t/template.yaml", "version: \"1\"\nmetadata: {name: t}\nbuild: {pip_install: [flask]}\n");
    write(&abx, "t/Dockerfile", "FROM debian:12\nCMD [python, main.py]\n");
    let log = sarif(0);
    assert_eq!(
        (&log["version"], &log["runs"][0]["tool"]["driver"]["name"]),
        (&"2.1.0".into(), &"abx".into())
    );
    let results = log["runs"][0]["results"].as_array().expect("results");
    let levels: Vec<_> = results.iter().map(|result| result["level"].as_str().expect("a level")).collect();
    assert_eq!(levels, ["warning", "note"]);

    write(&abx, "t/Dockerfile", "FROM debian:12\nCOPY gone /\nCOPY lost /\n");
    let log = sarif(2);
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 2);
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!((&results[1]["level"], &results[1]["ruleId"]), (&"error".into(), &"E2004".into()));
    assert_eq!(place["artifactLocation"]["uri"], "t/Dockerfile");
    assert_eq!(
        (&place["region"]["startLine"], &place["region"]["startColumn"], &place["region"]["endColumn"]),
        (&3.into(), &6.into(), &10.into())
    );
}

#[test]
fn values_of_a_dockerfile_are_explained_by_its_lines() {
    let abx = Abx::new();
    write(
        &abx,
        "t/Dockerfile",
        "FROM python-base\nWORKDIR /srv\nEXPOSE 80\nUSER root\nHEALTHCHECK CMD true\nCMD serve\n",
    );
    let ran = abx.run(&["template", "explain", "./t", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let line = |key: &str| {
        let mut rows = rows.as_array().expect("rows").iter();
        rows.find(|row| row["key"] == key)
            .map(|row| row["origin"]["file"]["line"].clone())
            .unwrap_or_default()
    };
    let found =
        ["sandbox.workdir", "network.ports", "sandbox.user", "healthcheck", "sandbox.startup_command"]
            .map(line);
    assert_eq!(found, [2, 3, 4, 5, 6].map(serde_json::Value::from));
    assert!(ran.stdout.contains("./t/Dockerfile"));
}
