//! Sandboxes from templates of a GitHub on the loopback.

use abx_test::github::LoopbackGithub;
use abx_test::{Ran, TestContext, run};

use super::with_python;

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

#[test]
fn a_template_of_a_repository_runs_with_its_files_and_its_parent_of_another_repository() {
    let Some(abx) = with_python() else { return };
    let github = LoopbackGithub::start();
    let parent =
        "version: \"1\"\nmetadata: {name: parent}\nbase: {from: base}\nbuild: {env: {WHO: parent}}\n";
    let child = "version: \"1\"\nmetadata: {name: child}\nbase: {from: \"p/q//parent@v1\"}\n";
    github.put("p/q", "v1", ONE, &[("parent/template.yaml", parent)]);
    github.put(
        "o/r",
        "HEAD",
        TWO,
        &[("child/template.yaml", child), ("child/files/hello.sh", "#!/bin/sh\necho hello from $WHO\n")],
    );
    let words = ["create", "--rm", "--network", "none", "o/r//child", "--", "./hello.sh"];
    assert_eq!(create(&abx, &github, &words).success(), "hello from parent\n");
    let asked = github.requests().len();
    let offline = [&["create", "--offline"], &words[1..]].concat();
    assert_eq!(create(&abx, &github, &offline).success(), "hello from parent\n");
    assert_eq!(github.requests().len(), asked, "nobody is asked offline");
}

fn create(abx: &TestContext, github: &LoopbackGithub, words: &[&str]) -> Ran {
    let mut command = abx.command(words);
    command.env("ABX_GITHUB_API_URL", github.url());
    run(command)
}
