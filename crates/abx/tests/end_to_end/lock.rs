//! What `template.lock` holds in place when images are built and sandboxes run.

use std::path::PathBuf;
use std::process::Command;

use abx_test::github::LoopbackGithub;
use abx_test::registry::{LoopbackRegistry, Trick, digest};
use abx_test::{Ran, TestContext, run, skip};
use serde_json::json;

use super::{empty, with_debian, with_python};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

#[test]
fn a_sandbox_is_made_of_the_commit_that_was_locked() {
    let Some(abx) = with_python() else { return };
    let github = LoopbackGithub::start();
    let put = |commit: &str, word: &str| {
        let parent = "version: \"1\"\nmetadata: {name: parent}\nbase: {from: base}\n";
        github.put("p/q", "HEAD", commit, &[("template.yaml", parent), ("files/word", word)]);
    };
    put(ONE, "one\n");
    let child = abx.template("child", "base: {from: p/q}\n");
    let on_github = |words: &[&str]| {
        let mut command = abx.command(words);
        command.env("ABX_GITHUB_API_URL", github.url());
        run(command)
    };
    on_github(&["template", "lock", &child]).success();
    put(TWO, "two\n");
    let create = |words: &[&str]| {
        let words =
            [&["create", "--rm", "--network", "none"], words, &[&child, "--", "cat", "word"]].concat();
        on_github(&words)
    };
    assert_eq!(create(&["--frozen", "--no-cache"]).success(), "one\n");
    assert_eq!(create(&["--frozen", "--offline"]).success(), "one\n");
    on_github(&["template", "update", &child]).success();
    assert_eq!(create(&["--frozen"]).success(), "two\n");
    abx.template("child", "base: {from: base}\n");
    let stderr = create(&["--frozen"]).failure(125, "E2008");
    assert!(stderr.contains("the parent of `.`: locked `p/q`, found `base`"), "{stderr}");
    std::fs::remove_file(abx.folder().join("child/template.lock")).expect("remove");
    create(&["--frozen"]).failure(125, "E2008");
}

#[test]
fn a_base_image_is_pulled_by_the_digest_that_was_locked() {
    if !rustix::process::geteuid().is_root() {
        skip("layers need root");
        return;
    }
    let (abx, registry) = (empty(), LoopbackRegistry::start());
    image(&registry, "one");
    let template = abx.template("mine", &format!("base: {{image: \"{}/team/app:1\"}}\n", registry.host()));
    abx.run(&["template", "lock", &template]).success();
    image(&registry, "two");
    let asked = registry.requests().len();
    assert_eq!(word(&abx, &build(&abx, &template, &["--frozen"])), "one");
    let manifests = registry.requests()[asked..]
        .iter()
        .map(|request| request.path.clone())
        .filter(|path| path.contains("/manifests/"))
        .collect::<Vec<_>>();
    assert!(!manifests.is_empty() && manifests.iter().all(|path| path.contains("sha256:")), "{manifests:?}");
    // It is there now.
    assert_eq!(word(&abx, &build(&abx, &template, &["--frozen", "--offline"])), "one");
    abx.run(&["template", "update", &template]).success();
    assert_eq!(word(&abx, &build(&abx, &template, &["--frozen"])), "two");

    image(&registry, "three");
    abx.run(&["template", "update", &template]).success();
    registry.play("GET /v2/team/app/manifests/", Trick::Corrupt, 9);
    abx.run(&["template", "build", &template]).failure(1, "E5022");
}

#[test]
fn an_archive_that_has_moved_on_is_told_and_under_frozen_a_fault() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("mine", "base: {image: \"debian:bookworm-slim\"}\n");
    abx.run(&["template", "lock", &template, "--offline"]).success();
    let path = abx.folder().join("mine/template.lock");
    let lock = std::fs::read_to_string(&path).expect("the lock");
    if !lock.contains("\nrelease = \"bookworm-slim\"\n") {
        skip("the base image comes from a registry here");
        return;
    }
    abx.run(&["template", "build", &template, "--frozen", "--offline"]).success();
    let line = lock.lines().find(|line| line.starts_with("  \"adduser=")).expect("a package");
    std::fs::write(&path, lock.replace(line, "  \"adduser=0.1\",")).expect("write");
    let drift = "`debian:bookworm-slim`: locked archive of";
    let stderr = abx.run(&["template", "build", &template, "--frozen", "--offline"]).failure(1, "E2008");
    assert!(stderr.contains(drift) && stderr.contains("adduser 0.1 → "), "{stderr}");
    let ran = abx.run(&["template", "build", &template, "--offline"]);
    assert!(ran.stderr.contains(drift) && ran.stderr.contains("adduser 0.1 → "), "{ran:#?}");
    ran.success();
}

#[test]
fn where_no_registry_is_within_reach_the_archive_stands_in_unless_frozen() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("mine", "base: {image: \"debian:bookworm-slim\"}\n");
    let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
    let lock = format!(
        "version = 1\n\n[[template]]\nreference = \".\"\nkind = \"directory\"\nname = \"mine\"\n\n\
         [base]\nimage = \"debian:bookworm-slim\"\ndigest = \"{digest}\"\n"
    );
    abx.write("mine/template.lock", &lock);
    let stderr = abx.run(&["template", "build", &template, "--frozen", "--offline"]).failure(1, "E5005");
    assert!(stderr.contains(&format!("`debian:bookworm-slim@{digest}` is not in the store")), "{stderr}");
    let ran = abx.run(&["template", "build", &template, "--offline"]);
    let drift = "template.lock: `debian:bookworm-slim`: locked sha256:0123456789ab, found ";
    assert!(ran.stderr.contains(drift), "{ran:#?}");
    ran.success();
    assert_eq!(std::fs::read_to_string(abx.folder().join("mine/template.lock")).expect("the lock"), lock);
}

/// Lets the tag stand for an image with this word in it.
fn image(registry: &LoopbackRegistry, word: &str) {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(word.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, "word", word.as_bytes()).expect("tar");
    let layer = builder.into_inner().expect("tar");
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let config = json!({ "architecture": architecture, "os": "linux" });
    let kind = "application/vnd.oci.image.layer.v1.tar";
    registry.put_image("team/app", "1", &config, &[(kind, &layer, digest(&layer))]);
}

/// The archive of the image that a build gives.
#[track_caller]
fn build(abx: &TestContext, template: &str, options: &[&str]) -> PathBuf {
    abx.run(&[&["template", "build", template, "--name", "made", "--tag", "1"], options].concat()).success();
    let _: Ran = abx.run(&["template", "export", "made:1", "-o", "image.tar"]);
    abx.folder().join("image.tar")
}

/// What the file `word` of an image says.
fn word(abx: &TestContext, image: &std::path::Path) -> String {
    let script = "mkdir -p unpacked && tar -xf \"$1\" -C unpacked && for blob in unpacked/blobs/sha256/*; do \
                  tar -xOf $blob word 2> /dev/null; tar -xOf $blob ./word 2> /dev/null; done; rm -r unpacked; true";
    let words = ["-c", script, "sh", image.to_str().expect("text")];
    let output = Command::new("sh").args(words).current_dir(abx.folder()).output().expect("sh");
    String::from_utf8(output.stdout).expect("text")
}
