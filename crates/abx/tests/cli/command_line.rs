//! What holds of every command line, whatever it asks for.

use std::io::Read;
use std::process::Stdio;

use crate::support::{Abx, Ran};

#[test]
fn a_wrong_command_line_is_status_2_with_usage_on_stderr() {
    let ran = Abx::new().run(&["exec", "web"]);
    assert_eq!(ran.status, Some(2));
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        "\
error: the following required arguments were not provided:
  <CMD>...

Usage: abx exec <ID> -- <CMD>...

For more information, try '--help'.
"
    );
}

#[test]
fn a_wrong_command_line_under_json_is_one_object() {
    for words in [&["--json", "list", "--nope"][..], &["list", "--nope", "--json"]] {
        let ran = Abx::new().run(words);
        assert_eq!(ran.status, Some(2));
        let object = ran.error_object();
        assert_eq!(object["code"], "usage");
        assert_eq!(object["message"], "unexpected argument '--nope' found");
    }
    let object = Abx::new().run(&["--json", "exec", "web", "ls"]).error_object();
    assert_eq!(object["help"], serde_json::json!(["the command to run stands after `--`"]));
    let object = Abx::new().run(&["exec", "web", "--json"]).error_object();
    assert_eq!(object["message"], "the following required arguments were not provided: <CMD>...");
}

#[test]
fn no_command_shows_the_help_as_an_error_and_help_is_a_result() {
    let none = Abx::new().run(&[]);
    assert_eq!((none.status, none.stdout.as_str()), (Some(2), ""));
    assert!(none.stderr.contains("Usage: abx"), "{}", none.stderr);
    for words in [&["--help"][..], &["-h"], &["create", "--help"], &["template", "build", "-h"]] {
        let ran = Abx::new().run(words);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
        assert!(ran.stdout.contains("Examples:"), "{words:?}");
        assert!(!ran.stdout.contains('\u{1b}'), "{words:?}");
    }
}

#[test]
fn version_is_a_line() {
    let ran = Abx::new().run(&["-V"]);
    let stdout = concat!("abx ", env!("CARGO_PKG_VERSION"), "\n").to_owned();
    assert_eq!(ran, Ran { status: Some(0), stdout, stderr: String::new() });
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Abx::new().run(&["completions", shell]);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{shell}");
        for command in ["create", "template", "doctor"] {
            assert!(ran.stdout.contains(command), "{shell} does not complete {command}");
        }
        assert!(!ran.stdout.contains("__monitor"), "{shell} offers internal entries");
    }
}

#[test]
fn bash_reads_its_script_and_completes() {
    let script = Abx::new().run(&["completions", "bash"]).stdout;
    let probe = "COMP_WORDS=(abx tem); COMP_CWORD=1; _abx abx tem abx; echo \"${COMPREPLY[*]}\"";
    let output = std::process::Command::new("bash").arg("-c").arg(format!("{script}\n{probe}")).output();
    let Ok(output) = output else {
        crate::support::skip("no bash here");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "template");
}

#[test]
fn a_reader_that_leaves_early_is_no_panic() {
    let mut child = Abx::new()
        .command(&["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("abx runs");
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("read");
    assert_eq!((child.wait().expect("wait").code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let output = Abx::new().command(&["completions", "fish"]).stdout(full).output().expect("abx runs");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
}

#[test]
fn options_that_contradict_each_other_are_refused_before_anything_is_done() {
    let abx = Abx::new();
    for words in [
        &["create", "base", "--rm"][..],
        &["create", "base", "-it", "--", "true"],
        &["exec", "web", "-it", "--", "true"],
        &["create", "base", "--offline", "--no-cache"],
    ] {
        let ran = abx.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("error: "), "{words:?}: {}", ran.stderr);
    }
    assert!(!abx.home().join("state").exists(), "something was written");
}

#[test]
fn a_tag_that_contradicts_the_reference_is_a_wrong_command_line() {
    for (reference, tag, expected) in [
        ("hello/world@v1", "v2", "--tag: `hello/world@v1` says `v1` already, which is not `v2`"),
        ("./mine", "v1", "--tag: `./mine` is a directory, which has no tags"),
    ] {
        let ran = Abx::new().run(&["create", reference, "--tag", tag]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
