//! `abx template init`.

use crate::support::Abx;

#[test]
fn a_template_is_written_and_nothing_is_written_over() {
    let abx = Abx::new();
    let ran = abx.run(&["template", "init", "shop"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), "./shop\n"));
    assert!(ran.stderr.contains("abx template validate ./shop"), "{}", ran.stderr);
    let folder = abx.home().join("shop");
    for file in [
        "template.yaml",
        "AGENTS.md",
        "README.md",
        "files/hello",
        "examples/hello.sh",
        "tests/hello.yaml",
        ".gitignore",
    ] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    assert_eq!(abx.run(&["template", "validate", "./shop"]).stdout, "shop 0.1.0 is valid\n");
    std::fs::write(folder.join("template.yaml"), "mine").expect("write");
    let ran = abx.run(&["template", "init", "shop"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(1), "E4000"));
    assert_eq!(std::fs::read_to_string(folder.join("template.yaml")).expect("read"), "mine");
    // An empty folder is as good as none.
    std::fs::create_dir(abx.home().join("empty")).expect("mkdir");
    assert_eq!(abx.run(&["template", "init", "empty"]).status, Some(0));
}

#[test]
fn a_parent_is_named_as_the_new_folder_sees_it() {
    let abx = Abx::new();
    assert_eq!(abx.run(&["template", "init", "parent"]).status, Some(0));
    assert_eq!(abx.run(&["template", "init", "deep/child", "--from", "./parent"]).status, Some(0));
    let text = std::fs::read_to_string(abx.home().join("deep/child/template.yaml")).expect("read");
    assert!(text.contains("from: \"../../parent\""), "{text}");
    assert_eq!(abx.run(&["template", "validate", "./deep/child"]).stdout, "child 0.1.0 is valid\n");

    let ran = abx.run(&["template", "init", "orphan", "--from", "./nowhere"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(4), "E2001"));
    assert!(!abx.home().join("orphan").exists());
}

#[test]
fn a_dockerfile_is_copied_and_what_it_lacks_is_told() {
    let abx = Abx::new();
    std::fs::write(abx.home().join("D"), "FROM debian:12\nCOPY src /src\n").expect("write");
    let ran = abx.run(&["template", "init", "boxed", "--dockerfile", "D", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(value["missing"][0], "./boxed/Dockerfile:2: there is no `src` in the package");
    let text = std::fs::read_to_string(abx.home().join("boxed/template.yaml")).expect("read");
    assert!(!text.contains("\nbase:"), "{text}");
    std::fs::create_dir(abx.home().join("boxed/src")).expect("mkdir");
    assert_eq!(abx.run(&["template", "validate", "./boxed"]).stdout, "boxed 0.1.0 is valid\n");

    let ran = abx.run(&["template", "init", "none", "--dockerfile", "gone"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(4), "E4001"));
    let ran = abx.run(&["template", "init", "a b"]);
    assert_eq!((ran.status, ran.error_code().as_str()), (Some(2), "E2005"));
    let ran = abx.run(&["template", "init", "x", "--from", "base", "--dockerfile", "D"]);
    assert_eq!(ran.status, Some(2));
}
