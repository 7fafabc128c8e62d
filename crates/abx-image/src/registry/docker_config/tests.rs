use super::*;

/// A one-line picture of what a file says, in order.
fn picture(config: &str, registry: &str, repository: &str) -> String {
    let config = DockerConfig::parse(config).expect(config);
    let found = match config.find(registry, repository) {
        Ok(found) => found,
        Err(error) => return format!("error {error}"),
    };
    let shown = found.iter().map(|found| match found {
        Found::Helper { name, server } => format!("ask {name} for {server}"),
        Found::Credentials(Credentials::Password { user, password }) => {
            format!("{user}={}", password.expose())
        }
        Found::Credentials(Credentials::Identity { token }) => format!("token {}", token.expose()),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn log_ins_are_found_as_docker_and_podman_find_them() {
    // YW5uOnB3OjE= is ann:pw:1, Ym9iOmI= bob:b.
    let hub = r#"{"auths":{"https://index.docker.io/v1/":{"auth":"YW5uOnB3OjE="}}}"#;
    let paths = r#"{"auths":{"r.example":{"auth":"YW5uOnB3OjE="},"r.example/team/app":{"auth":"Ym9iOmI="}}}"#;
    let schemes = r#"{"auths":{"https://r.example:5000/v2/":{"username":"ann","password":"x"}}}"#;
    let store = r#"{"auths":{"r.example":{}},"credsStore":"safe"}"#;
    let helpers = r#"{"credHelpers":{"r.example":"one"},"credsStore":"safe","auths":{"r.example":{"auth":"Ym9iOmI="}}}"#;
    for (config, registry, repository, expected) in [
        ("{}", "r.example", "app", ""),
        (hub, "docker.io", "library/debian", "ann=pw:1"),
        (hub, "r.example", "app", ""),
        (paths, "r.example", "app", "ann=pw:1"),
        (paths, "r.example", "team/app", "bob=b"),
        (paths, "r.example", "team/app/deep", "bob=b"),
        (paths, "r.example", "team/application", "ann=pw:1"),
        (paths, "r.example:5000", "team/app", ""),
        (schemes, "r.example:5000", "a", "ann=x"),
        (store, "r.example", "a", "ask safe for r.example"),
        (store, "docker.io", "library/a", "ask safe for https://index.docker.io/v1/"),
        (helpers, "r.example", "a", "ask one for r.example, bob=b"),
        (helpers, "other.example", "a", "ask safe for other.example"),
        (r#"{"auths":{"r.example":{"identitytoken":"t","auth":"Ym9iOg"}}}"#, "r.example", "a", "token t"),
        (
            r#"{"auths":{"r.example":{"auth":"%%"}}}"#,
            "r.example",
            "a",
            "error the log-in of \"r.example\" is not base64 of user:password",
        ),
        (r#"{"auths":{"r.example":{"auth":"%%"}}}"#, "other.example", "a", ""),
    ] {
        assert_eq!(picture(config, registry, repository), expected, "{config} {registry}/{repository}");
    }
}

#[test]
fn a_damaged_file_is_told_without_its_content() {
    for text in ["", "{", r#"{"auths":"hunter2"}"#, r#"{"auths":{"x":{"auth":7}},"y":"hunter2"}"#, "hunter2"]
    {
        let error = DockerConfig::parse(text).expect_err(text);
        assert!(error.contains("line ") && !error.contains("hunter2"), "{error}");
    }
    let config =
        DockerConfig::parse(r#"{"auths":{"x":{"password":"hunter2","username":"u"}}}"#).expect("good");
    assert!(!format!("{config:?}").contains("hunter2"));
}

#[test]
fn helpers_answers_are_read() {
    let token = helper_answer(br#"{"ServerURL":"x","Username":"<token>","Secret":"s"}"#);
    assert!(matches!(token, Some(Credentials::Identity { .. })));
    let password = helper_answer(br#"{"Username":"ann","Secret":"s"}"#);
    assert!(matches!(password, Some(Credentials::Password { user, .. }) if user == "ann"));
    assert!(helper_answer(b"no such thing").is_none());
    for (name, is_good) in [("pass", true), ("ecr-login", true), ("", false), ("../x", false), ("a b", false)]
    {
        assert_eq!(is_helper_name(name), is_good, "{name}");
    }
}
