//! A token for GitHub does not reach a sandbox, its image, or the arguments of a process that serves it.

use std::time::SystemTime;

use abx_test::canary::{files_with, processes_with};
use abx_test::github::LoopbackGithub;
use abx_test::run;

use super::with_python;

const CANARY: &str = "ghp_CanaryOfSandboxes0123456789";
const COMMIT: &str = "3333333333333333333333333333333333333333";

/// Everything a process in a sandbox can see of the others.
const LOOK: &str =
    "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat hello";

#[test]
fn a_token_ends_where_the_repository_is_fetched() {
    let Some(abx) = with_python() else { return };
    let (github, since) = (LoopbackGithub::start(), SystemTime::now());
    let template =
        "version: \"1\"\nmetadata: {name: canary}\nbase: {from: base}\nbuild: {run: [\"env > seen\"]}\n";
    github.put("o/r", "HEAD", COMMIT, &[("template.yaml", template), ("files/hello", "hello\n")]);
    github.require("o/r", CANARY);
    let command = |words: &[&str]| {
        let mut command = abx.command(words);
        command.env("ABX_GITHUB_API_URL", github.url()).env("GITHUB_TOKEN", CANARY);
        command
    };
    let id = run(command(&["-v", "create", "--network", "none", "o/r"])).success();
    let sandbox = abx.adopt(id.trim());
    assert_eq!(processes_with(CANARY), [""; 0]);
    let ran = run(command(&["exec", id.trim(), "--", "sh", "-c", LOOK]));
    assert!(ran.stdout.ends_with("hello\n"), "{ran:#?}");
    assert!(!format!("{ran:?}").contains(CANARY), "{ran:#?}");
    let archive = abx.folder().join("canary.tar");
    run(command(&["template", "build", "o/r", "--name", "canary"])).success();
    run(command(&["template", "export", "canary", "-o", &archive.display().to_string()])).success();
    assert_eq!(files_with(CANARY, abx.folder(), since), [""; 0].map(std::path::PathBuf::from));
    assert_eq!(files_with(CANARY, abx.state(), since), [""; 0].map(std::path::PathBuf::from));
    drop(sandbox);
}
