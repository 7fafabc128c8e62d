//! `abx template vendor`: one file with a template's lineage, its lock and its image.

use std::path::Path;
use std::process::Command;

use abx_test::{Ran, TestContext, run};

use super::{empty, with_debian};

const PARENT: &str = "base:\n  image: debian:bookworm-slim\nbuild:\n  run: [echo parent > /parent]\n";
const CHILD: &str = "  version: \"1.2.0\"\nbase:\n  from: ../parent\nbuild:\n  env: {CHILD: \"1\"}\n  run: [echo child > /child]\n";

/// A template and its parent, written to one file.
fn vendored() -> Option<TestContext> {
    let abx = with_debian()?;
    abx.template("parent", PARENT);
    abx.template("child", CHILD);
    abx.write("child/files/hello", "hello\n");
    abx.write("child/README.md", "# Child\n");
    let value = abx.run(&["template", "vendor", "./child", "--json"]).json();
    assert_eq!(
        (&value["file"], &value["name"], &value["version"]),
        (&"child-1.2.0.abx.tar".into(), &"child".into(), &"1.2.0".into())
    );
    assert!(value["digest"].as_str().expect("a digest").starts_with("sha256:"));
    Some(abx)
}

/// `abx` that reaches nothing: no settings of the host, and a proxy that nobody is.
fn cut_off(abx: &TestContext, words: &[&str]) -> Ran {
    let mut command = abx.command(words);
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
        command.env(name, "http://127.0.0.1:9");
    }
    for name in ["no_proxy", "NO_PROXY", "PIP_INDEX_URL", "UV_DEFAULT_INDEX"] {
        command.env_remove(name);
    }
    run(command)
}

fn tar(words: &[&str], folder: &Path) -> String {
    let output = Command::new("tar").args(words).current_dir(folder).output().expect("tar");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn another_machine_without_a_network_runs_it() {
    let Some(abx) = vendored() else { return };
    let other = empty();
    std::fs::copy(abx.folder().join("child-1.2.0.abx.tar"), other.folder().join("child.abx.tar"))
        .expect("copy");
    let words = ["create", "--rm", "--offline", "--network", "none", "./child.abx.tar", "--"];
    let ran = cut_off(&other, &[&words[..], &["sh", "-c", "cat hello /parent /child; echo $CHILD"]].concat());
    assert_eq!(ran.success(), "hello\nparent\nchild\n1\n");
    // The second time it is not read again: nothing but its beginning is there.
    let file = std::fs::File::options().write(true).open(other.folder().join("child.abx.tar")).expect("open");
    file.set_len(64 << 10).expect("cut");
    let ran = cut_off(&other, &[&words[..], &["cat", "/child"]].concat());
    assert_eq!(ran.success(), "child\n");
}

#[test]
fn it_is_a_reference_like_any_other() {
    let Some(abx) = vendored() else { return };
    let file = "./child-1.2.0.abx.tar";
    assert_eq!(abx.run(&["template", "validate", file]).success(), "child 1.2.0 is valid\n");
    let resolved = abx.run(&["template", "resolve", file, "--json"]).json();
    assert_eq!(resolved["kind"], "vendored");
    abx.run(&["template", "build", file, "--name", "named", "--offline"]).success();
    let ran = abx.run(&["create", "--rm", "--network", "none", "named", "--", "cat", "/child"]);
    assert_eq!(ran.success(), "child\n");
    let heir =
        abx.template("heir", "base:\n  from: ../child-1.2.0.abx.tar\nbuild:\n  run: [cat /child > /heir]\n");
    let ran = abx.run(&["create", "--rm", "--offline", "--network", "none", &heir, "--", "cat", "/heir"]);
    assert_eq!(ran.success(), "child\n");
}

#[test]
fn the_file_can_be_read_and_is_the_same_each_time() {
    let Some(abx) = vendored() else { return };
    abx.run(&["template", "vendor", "./child", "-o", "again.abx.tar"]).success();
    let read = |name: &str| std::fs::read(abx.folder().join(name)).expect("read");
    assert!(read("child-1.2.0.abx.tar") == read("again.abx.tar"), "the same input gives the same bytes");
    let members = tar(&["-tf", "again.abx.tar"], abx.folder());
    for member in [
        "abx-vendor.json",
        "template.lock",
        "packages/0-parent/template.yaml",
        "packages/1-child/template.yaml",
        "packages/1-child/files/hello",
        "packages/1-child/README.md",
        "oci-layout",
        "index.json",
    ] {
        assert!(members.lines().any(|line| line == member), "no {member}: {members}");
    }
    // The folder itself is in no member's name.
    assert!(!members.contains(&abx.folder().display().to_string()));
}

#[test]
fn what_was_changed_cut_or_made_by_a_newer_version_is_refused() {
    let Some(abx) = vendored() else { return };
    let whole = std::fs::read(abx.folder().join("child-1.2.0.abx.tar")).expect("read");
    let other = empty();
    let refused = |name: &str, bytes: &[u8], status: i32, code: &str| {
        other.write(name, bytes);
        let words = ["create", "--offline", "--network", "none", &format!("./{name}"), "--", "true"];
        let ran = other.run(&words);
        assert_eq!(ran.status, Some(125), "{ran:#?}");
        let named = other.run(&["template", "build", &format!("./{name}"), "--name", "x", "--offline"]);
        named.failure(status, code)
    };
    let mut changed = whole.clone();
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    assert!(refused("changed.abx.tar", &changed, 1, "E5022").contains("copy the file again"));
    let stderr = refused("cut.abx.tar", &whole[..middle], 1, "E5020");
    assert!(stderr.contains("cut.abx.tar") && stderr.contains("breaks off"), "{stderr}");
    refused("stub.abx.tar", &whole[..700], 1, "E5020");
    let at = whole.windows(11).position(|bytes| bytes == b"\"format\": 1").expect("format");
    let mut newer = whole.clone();
    newer[at + 10] = b'7';
    let stderr = refused("newer.abx.tar", &newer, 2, "E2004");
    assert!(stderr.contains("it is of format 7, made by abx "), "{stderr}");
    // No more than some of the layers that were right.
    let listing = other.run(&["template", "cache", "list", "--json"]).json();
    let entries = listing["entries"].as_array().expect("a list");
    assert!(entries.iter().all(|entry| entry["kind"] == "layer"), "{listing:#}");
}
