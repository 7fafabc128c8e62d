//! `abx template push` and `pull`, and creating from what was pushed.

use abx_test::TestContext;
use abx_test::docker_registry::{DockerRegistry, USER};
use serde_json::json;

use super::{empty, with_debian};

const SHOP: &str = "  version: \"1.2.0\"\nbase:\n  image: debian:bookworm-slim\nbuild:\n  env: {SHOP: \"open\"}\n  \
                    run: [echo shop > /shop]\nnetwork:\n  ports: [8080]\nresources:\n  cpu: 2\ncapabilities: [shell, files]\n";

/// Keeps the log-in of [`USER`] where docker does.
fn log_in(abx: &TestContext, host: &str) {
    let entry = json!({ "username": USER.0, "password": USER.1 });
    let auths = json!({ "auths": { format!("http://{host}/v2/"): entry } });
    abx.write(".docker/config.json", auths.to_string());
}

/// A context whose template `shop:1.2.0` is built.
fn with_shop() -> Option<TestContext> {
    let abx = with_debian()?;
    let template = abx.template("shop", SHOP);
    abx.run(&["template", "build", &template, "--name", "shop", "--tag", "1.2.0"]).success();
    Some(abx)
}

#[test]
fn what_is_pushed_is_the_template_wherever_it_is_pulled() {
    let Some(registry) = DockerRegistry::start_with_log_in() else { return };
    let Some(abx) = with_shop() else { return };
    let image = format!("acr://{}/team/shop", registry.host());

    let told = abx.run(&["template", "push", "shop:1.2.0", &image]).failure(3, "E7022");
    assert!(told.contains(&format!("docker login {}", registry.host())), "{told}");
    abx.write(".docker/config.json", "{\"auths\": hunter2");
    let told = abx.run(&["template", "push", "shop:1.2.0", &image]).failure(3, "E7022");
    assert!(told.contains(".docker/config.json") && !told.contains("hunter2"), "{told}");

    log_in(&abx, &registry.host());
    let pushed = abx.run(&["template", "push", "shop:1.2.0", &image, "--json"]).json();
    assert_eq!(pushed["layers_sent"], 4, "{pushed}");
    let again = abx.run(&["template", "push", "shop:1.2.0", &image, "--json"]).json();
    assert_eq!((&again["digest"], &again["layers_sent"]), (&pushed["digest"], &0.into()));

    let other = empty();
    log_in(&other, &registry.host());
    let range = format!("{image}:^1.1");
    let resolved = other.run(&["template", "resolve", &range, "--json"]).json();
    assert_eq!(
        (&resolved["tag"], &resolved["canonical"], &resolved["digest"]),
        (&"1.2.0".into(), &pushed["canonical"], &pushed["digest"])
    );
    other.run(&["template", "resolve", &format!("{image}:^2")]).failure(4, "E2006");
    assert_eq!(other.run(&["template", "pull", &range, "--name", "mine"]).success(), "mine:1.2.0\n");

    let by_digest = format!("{image}@{}", pushed["digest"].as_str().expect("a digest"));
    for reference in ["mine", &range, pushed["canonical"].as_str().expect("a reference"), &by_digest] {
        let sandbox = other.create(&["--offline", reference]);
        assert_eq!(
            sandbox.sh("cat /shop; pwd; id -un; echo $SHOP"),
            "shop\n/app\nuser\nopen\n",
            "{reference}"
        );
        let info = sandbox.info();
        assert_eq!(info["cpu"], 2.0, "{info}");
        assert_eq!(info["ports"][0]["guest"], 8080, "{info}");
        assert_eq!(info["capabilities"], json!(["shell", "files"]));
    }
    other.run(&["create", "--offline", &format!("{image}:^3")]).failure(1, "E5005");
}

#[test]
fn a_child_inherits_from_an_image_as_from_any_template() {
    let Some(registry) = DockerRegistry::start() else { return };
    let Some(abx) = with_shop() else { return };
    let image = format!("{}/team/shop", registry.host());
    abx.run(&["config", "set", "push_to", &format!("{}/team", registry.host())]).success();
    assert!(
        abx.run(&["template", "push", "shop:1.2.0"]).success().starts_with(&format!("acr://{image}:1.2.0@"))
    );

    let other = empty();
    let child = other.template(
        "child",
        &format!("base:\n  from: acr://{image}:~1.2\nbuild:\n  run: [echo child > /child]\n"),
    );
    let sandbox = other.create(&[&child]);
    assert_eq!(sandbox.sh("cat /shop /child"), "shop\nchild\n");
    assert_eq!(sandbox.info()["ports"][0]["guest"], 8080);
}

#[test]
fn a_helper_is_asked_for_the_log_in_and_never_quoted() {
    let Some(registry) = DockerRegistry::start_with_log_in() else { return };
    let abx = empty();
    let host = registry.host();
    abx.write(".docker/config.json", json!({ "credHelpers": { &host: "test" } }).to_string());
    let reference = format!("acr://{host}/team/shop:1");
    let resolve = |script: &str| {
        abx.write("bin/docker-credential-test", format!("#!/bin/sh\n{script}\n"));
        let mut command = abx.command(&["template", "resolve", &reference]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", abx.folder().join("bin").display()));
        abx_test::run(command)
    };
    let answer =
        |password: &str| format!("printf '{{\"Username\":\"{}\",\"Secret\":\"{password}\"}}'", USER.0);
    // Logged in, there is no such image.
    resolve(&answer(USER.1)).failure(4, "E2001");
    let told = resolve(&answer("hunter2")).failure(3, "E1011");
    assert!(!told.contains("hunter2"), "{told}");
    let told = resolve("echo hunter2; echo hunter2 >&2; exit 1").failure(3, "E7022");
    assert!(told.contains("docker-credential-test") && !told.contains("hunter2"), "{told}");
    resolve("echo credentials not found in native keychain; exit 1").failure(3, "E7022");
}

#[test]
fn a_destination_that_is_none_is_told_before_any_work() {
    let abx = empty();
    let told = abx.run(&["template", "push", "shop:1"]).failure(2, "E2005");
    assert!(told.contains("abx template push shop:1 acr://HOST/TEAM/APP"), "{told}");
    for destination in ["shop", "acr://shop", "acr://r.example/shop:^1", "./shop"] {
        abx.run(&["template", "push", "shop:1", destination]).failure(2, "E2005");
    }
    abx.run(&["template", "push", "nope:1", "acr://r.example/shop"]).failure(4, "E2001");
}
