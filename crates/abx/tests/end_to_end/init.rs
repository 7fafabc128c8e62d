//! A template from its first moment to a sandbox.

use super::{shared, with_debian};

#[test]
fn a_new_template_validates_builds_and_greets() {
    let Some(abx) = shared() else { return };
    assert_eq!(abx.run(&["template", "init", "fresh"]).success(), "./fresh\n");
    assert_eq!(abx.run(&["template", "validate", "./fresh"]).success(), "fresh 0.1.0 is valid\n");
    let tested = abx.run(&["template", "test", "./fresh"]).success();
    assert!(tested.contains("2 passed, 0 failed"), "{tested}");
    let words =
        ["-q", "create", "--rm", "--network", "none", "./fresh", "--", "sh", "-c", "./hello; ./hello you"];
    assert_eq!(abx.run(&words).success(), "hello from fresh\nhello you\n");
}

#[test]
fn a_new_template_may_begin_with_a_dockerfile() {
    let Some(abx) = with_debian() else { return };
    abx.write("Dockerfile", "FROM debian:bookworm-slim\nRUN echo docker > /made\n");
    abx.run(&["template", "init", "fresh", "--dockerfile", "Dockerfile"]).success();
    abx.run(&["template", "validate", "./fresh"]).success();
    let words =
        ["-q", "create", "--rm", "--network", "none", "./fresh", "--", "sh", "-c", "cat /made; ./hello"];
    assert_eq!(abx.run(&words).success(), "docker\nhello from fresh\n");
}
