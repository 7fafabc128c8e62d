//! `abx template cache` over images: what is needed stays, whatever else is asked for.

use std::process::Stdio;

use abx_test::{TestContext, wait_until};
use serde_json::Value;

use super::with_debian;

fn template(abx: &TestContext, name: &str) -> String {
    abx.template(
        name,
        &format!("base:\n  image: debian:bookworm-slim\nbuild:\n  run: [echo {name} > /{name}]\n"),
    )
}

/// The images that are listed, by name, with why they are needed.
fn images(abx: &TestContext) -> Vec<(String, Option<String>)> {
    let listing = abx.run(&["template", "cache", "list", "--json"]).json();
    let mut images: Vec<_> = listing["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|entry| entry["kind"] == "image")
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().map(str::to_owned);
            (text("name").expect("a name"), text("needed"))
        })
        .collect();
    images.sort_unstable();
    images
}

fn removed(value: &Value) -> Vec<&str> {
    let removed = value["removed"].as_array().expect("a list");
    removed.iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
}

#[test]
fn local_templates_and_live_sandboxes_keep_their_images() {
    let Some(abx) = with_debian() else { return };
    let (kept, live, gone) = (template(&abx, "kept"), template(&abx, "live"), template(&abx, "gone"));
    abx.run(&["template", "build", &kept, "--name", "kept", "--tag", "v1"]).success();
    let sandbox = abx.create(&["--network", "none", "--name", "alive", &live]);
    abx.run(&["create", "--rm", "--network", "none", &gone, "--", "true"]).success();
    let found = images(&abx);
    assert_eq!(
        found,
        [
            ("debian:bookworm-slim".to_owned(), Some("images built on it".to_owned())),
            ("gone:0.0.0".to_owned(), None),
            ("kept:v1".to_owned(), Some("local template kept:v1".to_owned())),
            ("live:0.0.0".to_owned(), Some("sandbox alive".to_owned())),
        ]
    );
    let clean = ["template", "cache", "clean", "--kind", "image", "--json"];
    let cleaned = abx.run(&clean).json();
    assert_eq!(removed(&cleaned), ["gone:0.0.0"]);
    assert!(cleaned["freed"].as_u64().expect("bytes") > 0);
    assert_eq!(sandbox.sh("cat /live"), "live\n");
    let named = abx.run(&["template", "cache", "clean", "kept:v1"]);
    assert_eq!(named.stdout, "nothing to remove\n");
    assert!(named.stderr.contains("stays: local template kept:v1 needs it"), "{named:#?}");
    // What is gone is built again, and what was kept runs.
    for (reference, file) in [("./gone", "/gone"), ("kept:v1", "/kept")] {
        let ran =
            abx.run(&["create", "--rm", "--offline", "--network", "none", reference, "--", "cat", file]);
        assert_eq!(ran.success(), format!("{}\n", &file[1..]));
    }
    drop(sandbox);
    let cleaned = abx.run(&clean).json();
    assert_eq!(removed(&cleaned).len(), 2, "{cleaned:#}");
}

#[test]
fn a_build_under_way_is_waited_for() {
    let Some(abx) = with_debian() else { return };
    let slow = abx.template(
        "slow",
        "base:\n  image: debian:bookworm-slim\nbuild:\n  run: [echo first > /first, \"touch /run/begun; sleep 2; cat /first\"]\n",
    );
    let mut build = abx.command(&["template", "build", &slow, "--name", "slow"]);
    let mut build = build.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("abx starts");
    // The first step is done, and the second one stands on it.
    wait_until("the first layers", || {
        let layers = std::fs::read_dir(abx.state().join("store/layers")).ok()?.count();
        (layers >= 3).then_some(())
    });
    let cleaned = abx.run(&["template", "cache", "clean", "--kind", "image"]);
    assert_eq!(cleaned.status, Some(0), "{cleaned:#?}");
    assert!(cleaned.stderr.contains("waiting for builds and creates that are under way"), "{cleaned:#?}");
    let output = build.wait().expect("abx ends");
    assert!(output.success());
    let ran = abx.run(&["create", "--rm", "--offline", "--network", "none", "slow", "--", "cat", "/first"]);
    assert_eq!(ran.success(), "first\n");
}

#[test]
fn a_changed_layer_is_found_by_a_closer_look() {
    let Some(abx) = with_debian() else { return };
    let name = template(&abx, "sound");
    abx.run(&["template", "build", &name, "--name", "sound"]).success();
    let verify = ["template", "cache", "verify", "--deep"];
    abx.run(&verify).success();
    let layers = std::fs::read_dir(abx.state().join("store/layers")).expect("layers");
    let layer = layers
        .map(|entry| entry.expect("entry").path())
        .find(|layer| layer.join("fs/sound").exists())
        .expect("the layer of the step");
    std::fs::write(layer.join("fs/sound"), "changed\n").expect("write");
    abx.run(&["template", "cache", "verify"]).success();
    let ran = abx.run(&verify);
    assert_eq!(ran.status, Some(1), "{ran:#?}");
    assert!(
        ran.stdout.contains("layer run: echo sound > /sound: its files are not what they were"),
        "{ran:#?}"
    );
    abx.run(&["template", "cache", "verify", "--deep", "--repair"]).success();
    abx.run(&["template", "build", &name, "--name", "sound", "--offline"]).success();
    let ran = abx.run(&["create", "--rm", "--network", "none", "sound", "--", "cat", "/sound"]);
    assert_eq!(ran.success(), "sound\n");
}
