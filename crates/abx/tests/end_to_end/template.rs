//! `abx template validate|build|list|export`, `abx completions`.

use super::{empty, shared, with_debian};

#[test]
fn validate_says_that_a_template_is_sound() {
    let abx = empty();
    let template = abx.template("sound", "  version: \"1.2.0\"\nbase:\n  from: base\n");
    assert_eq!(abx.run(&["template", "validate", &template]).success(), "sound 1.2.0 is valid\n");
    let value = abx.run(&["template", "validate", &template, "--json"]).json();
    assert_eq!((&value["valid"], &value["name"]), (&true.into(), &"sound".into()));
    for builtin in ["base", "python-base"] {
        assert_eq!(
            abx.run(&["template", "validate", builtin]).success(),
            format!("{builtin} 1.0.0 is valid\n")
        );
    }
    assert!(!abx.state().exists(), "a look makes no state");
}

#[test]
fn validate_shows_every_fault_at_its_place() {
    let abx = empty();
    let template = abx
        .template("faulty", "base:\n  image: debian:bookworm-slim\nresources:\n  cpus: 2\n  memory: lots\n");
    let stderr = abx.run(&["template", "validate", &template]).failure(2, "E2004");
    for part in ["faulty/template.yaml:7:3", "cpus: 2", "`cpu`", "faulty/template.yaml:8:11", "lots"] {
        assert!(stderr.contains(part), "no {part}: {stderr}");
    }
    let object = abx.run(&["template", "validate", &template, "--json"]).error_object();
    assert_eq!(
        (&object["code"], &object["line"], &object["column"]),
        (&"E2004".into(), &7.into(), &3.into())
    );
}

#[test]
fn a_built_template_has_a_name_and_starts_by_it() {
    let Some(abx) = with_debian() else { return };
    let template =
        abx.template("shop", "base:\n  image: debian:bookworm-slim\nbuild:\n  run: [echo built > /made]\n");
    let image = abx.run(&["template", "build", &template, "--name", "store", "--tag", "v1.0"]).success();
    let image = image.trim_end();
    assert!(image.trim_start_matches("sha256:").len() == 64, "{image}");
    let listed = abx.run(&["template", "list", "--json"]).json();
    let listed = listed.as_array().expect("a list");
    assert!(
        listed.iter().any(|row| row["name"] == "store" && row["tag"] == "v1.0" && row["image"] == image),
        "{listed:#?}"
    );
    assert!(
        listed.iter().any(|row| row["name"] == "python-base" && row["kind"] == "built-in"),
        "{listed:#?}"
    );
    // Without its folder.
    std::fs::remove_dir_all(abx.folder().join("shop")).expect("remove");
    let ran = abx.run(&["create", "--rm", "--network", "none", "store:v1.0", "--", "cat", "/made"]);
    assert_eq!(ran.success(), "built\n");
    abx.run(&["create", "store:v2.0"]).failure(4, "E2006");
}

#[test]
fn completions_are_a_script_for_each_shell() {
    let abx = empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = abx.run(&["completions", shell]);
        assert_eq!(ran.stderr, "");
        assert!(ran.success().contains("abx"), "{shell}");
    }
    let script = abx.write("completion", abx.run(&["completions", "bash"]).success());
    let words = "COMP_WORDS=(abx cr); COMP_CWORD=1; _abx abx cr abx; echo \"${COMPREPLY[*]}\"";
    let command = format!("source {}; {words}", script.display());
    let output = std::process::Command::new("bash").args(["--norc", "-c", &command]).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "create\n");
    let ran = abx.run(&["completions", "tcsh"]);
    assert_eq!(ran.status, Some(2), "{ran:#?}");
}

#[test]
fn the_shorthand_is_a_template_too() {
    let Some(abx) = shared() else { return };
    let text = "name: short\nversion: \"1.0\"\nbase: base\nfiles:\n  - {source: ./config/, target: /app/config/}\n\
                env: {MODE: production}\nports: [8000]\nresources: {cpu: 0.5}\nentrypoint: touch /tmp/started\nworkdir: /app\n";
    abx.write("short/sandbox.yaml", text);
    abx.write("short/config/a", "content\n");
    let sandbox = abx.create(&["./short"]);
    let info = sandbox.info();
    assert_eq!((&info["template"], &info["cpu"]), (&"short:1.0.0".into(), &0.5.into()));
    assert_eq!(info["ports"][0]["guest"], 8000);
    assert_eq!(sandbox.sh("cat /app/config/a; echo $MODE"), "content\nproduction\n");
    abx_test::wait_until("the entrypoint", || {
        (sandbox.exec(&["test", "-e", "/tmp/started"]).status == Some(0)).then_some(())
    });
}
