//! Ranges of versions and `latest`, as `abx template resolve` shows them.

use abx_test::github::LoopbackGithub;

use crate::support::{Abx, Ran};

const TEMPLATE: &str = "version: \"1\"\nmetadata: {name: hello}\nbase: {image: debian}\n";

/// With `o/mono` that has releases of its own for `web`, and plain ones.
fn github() -> LoopbackGithub {
    let github = LoopbackGithub::start();
    let files = [("web/template.yaml", TEMPLATE), ("api/template.yaml", TEMPLATE)];
    github.put("o/mono", "HEAD", &commit(1), &files);
    for (tag, number) in
        [("web-v1.2.0", 12), ("web-v1.10.0", 20), ("web-v2.0.0-rc.1", 21), ("v1.4.0", 14), ("v0.9.0", 9)]
    {
        github.put("o/mono", tag, &commit(number), &files);
        github.tag("o/mono", tag, &commit(number), false);
    }
    github
}

fn commit(number: u32) -> String {
    format!("{number:040}")
}

fn run(abx: &Abx, github: &LoopbackGithub, words: &[&str]) -> Ran {
    let words = [&["template", "resolve"], words].concat();
    let mut command = abx.command(&words);
    command.env("ABX_GITHUB_API_URL", github.url());
    Ran::from(command.output().expect("abx runs"))
}

#[test]
fn the_chosen_tag_is_shown_and_a_commit_is_canonical() {
    let (abx, github) = (Abx::new(), github());
    for (reference, git_ref, tag, number, subdirectory) in [
        ("o/mono//web@^1.2", "^1.2", Some("web-v1.10.0"), 20, "web"),
        ("o/mono//web@~1.2", "~1.2", Some("web-v1.2.0"), 12, "web"),
        ("o/mono/web@>=2.0.0-rc.1", ">=2.0.0-rc.1", Some("web-v2.0.0-rc.1"), 21, "web"),
        ("o/mono//api@^1", "^1", Some("v1.4.0"), 14, "api"),
        ("o/mono//web@latest", "latest", Some("web-v1.10.0"), 20, "web"),
        ("o/mono//api@latest", "latest", Some("v1.4.0"), 14, "api"),
        ("o/mono//api@v0.9.0", "v0.9.0", None, 9, "api"),
    ] {
        let ran = run(&abx, &github, &[reference, "--json"]);
        assert_eq!(ran.status, Some(0), "{reference}: {ran:#?}");
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let expected = serde_json::json!({
            "kind": "github", "owner": "o", "repo": "mono", "subdir": subdirectory, "ref": git_ref, "tag": tag,
            "commit": commit(number), "digest": value["digest"],
            "canonical": format!("o/mono//{subdirectory}@{}", commit(number)),
        });
        assert_eq!(value, expected);
    }
    assert_eq!(github.asked("/tags").len(), 1, "one list serves them all");
    let human = run(&abx, &github, &["o/mono//web@^1.2", "--offline"]);
    assert!(
        human.stdout.lines().any(|line| line.starts_with("tag ") && line.ends_with(" web-v1.10.0")),
        "{human:#?}"
    );
}

#[test]
fn a_range_without_a_version_says_which_there_are() {
    let (abx, github) = (Abx::new(), github());
    for (reference, message, help) in [
        (
            "o/mono//web@^2",
            "error[E2006]: `o/mono//web` has no version in the range `^2`",
            [
                "  help: the nearest are `web-v1.10.0`, `web-v1.2.0`",
                "  help: a pre-release has to be named: `o/mono//web@web-v2.0.0-rc.1`",
            ],
        ),
        (
            "o/mono//api@^3",
            "error[E2006]: `o/mono//api` has no version in the range `^3`",
            ["  help: the nearest are `v1.4.0`, `v0.9.0`", ""],
        ),
    ] {
        let ran = run(&abx, &github, &[reference]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(4), ""), "{ran:#?}");
        for line in [message].iter().chain(&help) {
            assert!(ran.stderr.contains(line.trim()), "{line} is not in {}", ran.stderr);
        }
    }
}

#[test]
fn a_mirror_stands_in_for_a_registry_out_of_reach() {
    let (abx, mirror) = (Abx::new(), abx_test::registry::LoopbackRegistry::start());
    let descriptor =
        serde_json::json!({ "mediaType": "x", "digest": abx_test::registry::digest(b""), "size": 0 });
    let manifest = serde_json::json!({ "schemaVersion": 2, "config": descriptor, "layers": [] });
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let digest = mirror.put_manifest("library/shop", "1.2.0", kind, &manifest);
    mirror.put_manifest("team/shop", "1.2.0", kind, &manifest);
    for registry in ["docker.io", "127.0.0.1:1"] {
        let ran = abx.run(&["config", "set", &format!("registry.{registry}.mirror"), &mirror.host()]);
        assert_eq!(ran.status, Some(0), "{ran:#?}");
    }
    for reference in
        ["docker://shop:1.2.0", "acr://127.0.0.1:1/team/shop:1.2.0", "acr://127.0.0.1:1/team/shop:^1"]
    {
        let ran = abx.run(&["template", "resolve", reference]);
        assert_eq!(ran.status, Some(0), "{reference}: {ran:#?}");
        assert!(ran.stdout.contains(&digest), "{reference}: {ran:#?}");
    }
}
