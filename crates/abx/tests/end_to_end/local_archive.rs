//! Sandboxes of templates in archives of this machine.

use std::process::Command;

use abx_test::TestContext;

use super::{shared, with_debian};

fn tar(abx: &TestContext, words: &[&str]) {
    let output = Command::new("tar").args(words).current_dir(abx.folder()).output().expect("tar");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_archive_runs_as_its_directory_does() {
    let Some(abx) = shared() else { return };
    let name = abx.name("packed").to_ascii_lowercase();
    let folder = abx.template(&name, "base:\n  from: base\n");
    abx.write(&format!("{name}/files/run"), "#!/bin/sh\necho ran\n");
    tar(&abx, &["-czf", "it.tar.gz", &name]);
    // Without the directory.
    std::fs::remove_dir_all(abx.folder().join(&folder)).expect("remove");
    for _ in 0..2 {
        let ran = abx.run(&["create", "--rm", "--network", "none", "./it.tar.gz", "--", "./run"]);
        assert_eq!(ran.success(), "ran\n");
    }
    let heir = abx.template(&format!("{name}-heir"), "base:\n  from: ../it.tar.gz\n");
    let ran = abx.run(&["create", "--rm", "--network", "none", &heir, "--", "./run"]);
    assert_eq!(ran.success(), "ran\n");
}

#[test]
fn what_cannot_be_copied_is_said_to_be_left_out() {
    let Some(abx) = with_debian() else { return };
    let folder = abx.template("piped", "base:\n  image: debian:bookworm-slim\n");
    abx.write("piped/files/a", "a\n");
    let status = Command::new("mkfifo").arg(abx.folder().join("piped/files/pipe")).status().expect("mkfifo");
    assert!(status.success());
    let ran = abx.run(&["create", "--rm", "--network", "none", &folder, "--", "ls"]);
    assert!(ran.stderr.contains("warning: piped: files/pipe was left out: it is a FIFO"), "{ran:#?}");
    assert_eq!(ran.success(), "a\n");
}
