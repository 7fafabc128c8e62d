use std::os::unix::fs::PermissionsExt;

use super::*;
use abx_core::Fault;

/// A folder with a configuration, and programs that stand in for helpers. Their names are unlike any other's,
/// for the search path is the whole process's.
struct Place {
    dir: tempfile::TempDir,
    files: CredentialFiles,
}

impl Place {
    fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("config.json");
        std::fs::write(&path, config).expect("write");
        let files = CredentialFiles { paths: vec![dir.path().join("absent.json"), path], patience: PATIENCE };
        Self { dir, files }
    }

    /// The answer of a program of this text in the place of a helper.
    fn ask(&self, script: &str) -> Result<Option<Credentials>, ImageError> {
        let program = self.dir.path().join("docker-credential-test");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("write");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("chmod");
        // A name with a path in it is none, so the program is run as it would be, by its path.
        let name = program.display().to_string();
        let (status, output) =
            run(&name, "r.example", self.files.patience).map_err(|_| fault("it takes too long"))?;
        judge(status, &output).map_err(fault)
    }
}

fn fault(reason: &'static str) -> ImageError {
    ImageError::CredentialHelper { helper: "test".into(), registry: "r.example".into(), reason }
}

#[test]
fn the_first_file_that_knows_counts_and_a_damaged_one_is_named() {
    let place = Place::new(r#"{"auths":{"r.example":{"username":"ann","password":"pw"}}}"#);
    let found = place.files.find("r.example", "a").expect("read");
    assert!(matches!(found, Some(Credentials::Password { user, .. }) if user == "ann"));
    assert!(place.files.find("other.example", "a").expect("read").is_none());

    let place = Place::new("{\"auths\": hunter2");
    let error = place.files.find("r.example", "a").expect_err("damaged");
    assert_eq!(error.code().as_str(), "E7022");
    assert!(error.to_string().contains("config.json"), "{error}");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn a_helper_is_asked_and_its_output_is_never_shown() {
    let place = Place::new("{}");
    let good = r#"read server; test "$server" = r.example -a "$1" = get; printf '{"Username":"ann","Secret":"hunter2"}'"#;
    let found = place.ask(good).expect("an answer");
    assert!(matches!(&found, Some(Credentials::Password { user, .. }) if user == "ann"));
    assert!(!format!("{found:?}").contains("hunter2"));
    let unknown = place.ask("echo credentials not found in native keychain; exit 1");
    assert!(unknown.expect("an answer").is_none());
    for (script, reason) in
        [("echo hunter2; echo hunter2 >&2; exit 1", "it failed"), ("echo hunter2", "its answer is no log-in")]
    {
        let error = place.ask(script).expect_err(script);
        assert!(error.to_string().ends_with(reason), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[test]
fn a_helper_that_hangs_is_ended_with_all_it_has_started() {
    let mut place = Place::new("{}");
    place.files.patience = Duration::from_millis(300);
    let left = place.dir.path().join("left");
    let error =
        place.ask(&format!("(sleep 2; touch {}) & sleep 1000", left.display())).expect_err("too long");
    assert!(error.to_string().ends_with("it takes too long"), "{error}");
    std::thread::sleep(Duration::from_millis(2300));
    assert!(!left.exists());
}

#[test]
fn a_helper_that_is_not_there_is_an_error_only_where_nobody_else_knows() {
    let missing = r#""credsStore":"abx-test-is-missing""#;
    let place = Place::new(&format!("{{{missing}}}"));
    let error = place.files.find("r.example", "a").expect_err("missing");
    assert_eq!(
        error.to_string(),
        "docker-credential-abx-test-is-missing gave no log-in for r.example: it is not installed"
    );
    let place = Place::new(&format!(r#"{{{missing},"auths":{{"r.example":{{"auth":"YW5uOnB3"}}}}}}"#));
    assert!(place.files.find("r.example", "a").expect("the file knows").is_some());
}
