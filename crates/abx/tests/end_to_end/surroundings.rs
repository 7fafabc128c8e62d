//! Where the program runs: odd folders, odd streams, odd words.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use abx_test::{TestContext, run};

use super::{shared, with_debian};

const DEBIAN: &str = "base:\n  image: debian:bookworm-slim\nbuild:\n  run: [echo built > /made]\n";

/// Builds and runs with the state at that place.
#[track_caller]
fn works_in(abx: &TestContext, state: &Path) {
    let template = abx.template("plain", DEBIAN);
    let mut command = abx.command(&[
        "-q",
        "create",
        "--rm",
        "--network",
        "none",
        &template,
        "--",
        "cat",
        "/made",
        "/etc/debian_version",
    ]);
    command.env("ABX_HOME", state);
    let stdout = run(command).success();
    assert!(stdout.starts_with("built\n12."), "{}: {stdout}", state.display());
}

#[test]
fn the_state_may_be_anywhere() {
    let Some(abx) = with_debian() else { return };
    let long = "a-folder-whose-path-is-longer-than-a-socket's-may-be-".repeat(4);
    for name in ["with space", "with:colon", "with,comma", "with\\backslash", "with\"quote", "名", &long] {
        let place = abx.folder().join(name);
        std::fs::rename(abx.state(), &place).expect("rename");
        works_in(&abx, &place);
        std::fs::rename(&place, abx.state()).expect("rename");
    }
    symlink(abx.state(), abx.folder().join("link")).expect("link");
    works_in(&abx, &abx.folder().join("link"));
    works_in(&abx, Path::new("state"));
}

#[test]
fn a_directory_is_referred_to_in_any_spelling() {
    let Some(abx) = shared() else { return };
    let text = "name: found\nbase: base\nworkdir: /found\n";
    abx.write("with space/template.yaml", text);
    abx.write("below/x", "");
    let absolute = abx.folder().join("with space").display().to_string();
    let file = format!("file:{absolute}");
    for reference in ["./with space", "./with space/", "file:./with space", "~/with space", &absolute, &file]
    {
        let ran = abx.run(&["-q", "create", "--rm", "--network", "none", reference, "--", "pwd"]);
        assert_eq!(ran.success(), "/found\n", "{reference}");
    }
    for (folder, reference) in [("with space", "."), ("below", "../with space")] {
        let mut command = abx.command(&["-q", "create", "--rm", "--network", "none", reference, "--", "pwd"]);
        command.current_dir(abx.folder().join(folder));
        assert_eq!(run(command).success(), "/found\n", "{reference}");
    }
}

#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    for (words, status) in
        [(vec!["list"], 1), (vec!["info", &sandbox.id], 1), (vec!["exec", &sandbox.id, "--", "echo"], 125)]
    {
        let mut command = abx.command(&words);
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let output =
            command.stdout(full).stderr(Stdio::piped()).spawn().and_then(|child| child.wait_with_output());
        let output = output.expect("abx");
        assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"), "{words:?}: {output:?}");
    }
}

#[test]
fn words_that_are_no_text_are_a_usage_error_or_pass() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let mut command = abx.command(&["exec", &sandbox.id, "--", "printf", "%s"]);
    command.arg(OsStr::from_bytes(b"\xff\xfe"));
    let output = command.output().expect("abx");
    let passed = output.status.code() == Some(0) && output.stdout == b"\xff\xfe";
    let refused = output.status.code() == Some(2) && output.stdout.is_empty();
    assert!(passed || refused, "{output:?}");
}

#[test]
fn output_that_is_no_text_passes_unchanged() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let script = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)";
    let output = abx.command(&["exec", &sandbox.id, "--", "python3", "-c", script]).output().expect("abx");
    assert!(output.stdout == (0..=255).collect::<Vec<u8>>().repeat(4096));
}

#[test]
fn without_a_terminal_there_are_no_escapes() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("plain", DEBIAN);
    let ran = abx.run(&["create", "--rm", "--network", "none", &template, "--", "true"]);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains('\r'), "{ran:#?}");
    let mut command = abx.command(&["create", "no-such-template"]);
    command.env("TERM", "xterm-256color").env("CLICOLOR_FORCE", "1");
    assert!(!run(command).stderr.contains('\u{1b}'));
}
