//! Bad input: a clear error with its code, nothing on stdout, nothing changed on disk.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use abx_test::{Ran, TestContext, run};

use super::{empty, shared, with_debian};

/// Every path below the folder with its length.
fn tree(folder: &Path) -> BTreeMap<String, u64> {
    let mut paths = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let metadata = entry.metadata().expect("metadata");
        paths.insert(entry.path().display().to_string(), if metadata.is_dir() { 0 } else { metadata.len() });
        if metadata.is_dir() {
            paths.extend(tree(&entry.path()));
        }
    }
    paths
}

/// Fails as said, and changes nothing below the folder.
#[track_caller]
fn refuses(abx: &TestContext, words: &[&str], status: i32, code: &str, parts: &[&str]) {
    let before = tree(abx.folder());
    let stderr = abx.run(words).failure(status, code);
    for part in parts {
        assert!(stderr.contains(part), "{words:?}: no {part:?}: {stderr}");
    }
    assert_eq!(tree(abx.folder()), before, "{words:?}: something changed on disk");
}

#[test]
fn an_unknown_template_is_e2001_with_names_near_it() {
    let abx = empty();
    refuses(&abx, &["create", "pyton-base"], 4, "E2001", &["`pyton-base`", "python-base"]);
    refuses(&abx, &["create", "bse"], 4, "E2001", &["`base`"]);
    refuses(&abx, &["create", "zzzzzzzz"], 4, "E2001", &["`zzzzzzzz`"]);
    refuses(&abx, &["template", "validate", "pyton-base"], 4, "E2001", &["python-base"]);
    abx.template("mine", "base:\n  from: base\n");
    // A folder is never taken for a name.
    refuses(&abx, &["create", "mine"], 4, "E2001", &["`./mine`"]);
    refuses(&abx, &["create", "./none"], 4, "E2001", &["./none"]);
    refuses(&abx, &["create", "base:9.9.9"], 4, "E2006", &["9.9.9", "1.0.0"]);
}

#[test]
fn a_folder_named_like_a_built_in_does_not_stand_in_for_it() {
    let Some(abx) = shared() else { return };
    abx.template("base", "base:\n  image: no.such.registry/none\n");
    let ran = abx.run(&["create", "--rm", "--network", "none", "base", "--", "echo", "the built-in"]);
    assert_eq!(ran.success(), "the built-in\n");
}

#[test]
fn a_malformed_file_is_e2004_with_its_place_and_advice() {
    let abx = empty();
    let image = "base:\n  image: debian:bookworm-slim\n";
    for (name, rest, parts) in [
        (
            "key",
            format!("{image}sandbox:\n  workdri: /x\n"),
            &["key/template.yaml:7:3", "workdri: /x", "`workdir`"][..],
        ),
        ("type", format!("{image}network:\n  ports: [http]\n"), &["type/template.yaml:7:11", "http"]),
        ("bounds", format!("{image}resources:\n  cpu: 1000\n"), &["bounds/template.yaml:7:8", "1000", "64"]),
        ("both", "base:\n  image: x\n  from: base\n".to_owned(), &["both/template.yaml", "image", "from"]),
        ("none", "build:\n  run: [x]\n".to_owned(), &["none/template.yaml", "base"]),
        (
            "probe",
            format!("{image}sandbox:\n  readiness_probe: {{type: tcp}}\n"),
            &["probe/template.yaml:7:", "port"],
        ),
        ("twice", format!("{image}{image}"), &["twice/template.yaml:6:1", "base"]),
        (
            "quote",
            "  version: 1.10\nbase:\n  from: base\n".to_owned(),
            &["quote/template.yaml:4:12", "quote"],
        ),
        ("syntax", "base: {image: x\nbuild:\n".to_owned(), &["syntax/template.yaml:"]),
        ("commands", format!("{image}custom_commands: []\n"), &["commands/template.yaml:6:1", "register"]),
    ] {
        let template = abx.template(name, &rest);
        refuses(&abx, &["create", &template], 2, "E2004", parts);
        refuses(&abx, &["template", "validate", &template], 2, "E2004", parts);
    }
    abx.write("empty/template.yaml", "");
    refuses(&abx, &["create", "./empty"], 2, "E2004", &["empty/template.yaml"]);
    abx.write("binary/template.yaml", b"\xff\xfe\0");
    refuses(&abx, &["create", "./binary"], 2, "E2004", &["binary/template.yaml"]);
}

#[test]
fn missing_files_are_named() {
    let abx = empty();
    std::fs::create_dir(abx.folder().join("bare")).expect("folder");
    refuses(&abx, &["create", "./bare"], 4, "E2001", &["template.yaml", "./bare"]);
    abx.write("two/template.yaml", "x");
    abx.write("two/sandbox.yaml", "x");
    refuses(&abx, &["create", "./two"], 2, "E2004", &["template.yaml", "sandbox.yaml"]);
    abx.write("file", "x");
    refuses(&abx, &["create", "./file"], 4, "E2001", &["./file"]);
    let copy = "base:\n  image: debian:bookworm-slim\nbuild:\n  copy:\n    - {src: ./missing, dest: /x}\n";
    let template = abx.template("copies", copy);
    for words in [["template", "validate", &template].as_slice(), &["create", &template]] {
        let before = tree(abx.folder());
        let ran = abx.run(words);
        assert!(ran.status != Some(0) && ran.stdout.is_empty(), "{ran:#?}");
        for part in ["missing", "copies/template.yaml:8:13"] {
            assert!(ran.stderr.contains(part), "no {part:?}: {ran:#?}");
        }
        assert_eq!(tree(abx.folder()), before, "{words:?}: something changed on disk");
    }
}

#[test]
fn a_malformed_reference_is_e2005() {
    let abx = empty();
    for reference in ["a//b//c", "UPPER CASE", "base:", "@v1", ""] {
        let ran = abx.run(&["create", reference]);
        assert!(ran.status != Some(0) && ran.stdout.is_empty(), "{reference:?}: {ran:#?}");
        assert!(
            ran.stderr.contains("error[E2005]") || ran.stderr.contains("error[E2001]"),
            "{reference:?}: {ran:#?}"
        );
        assert!(!abx.state().exists());
    }
}

#[test]
fn settings_that_do_not_parse_are_shown_with_their_place() {
    let abx = empty();
    abx.write(".abx/config.toml", "debian_miror = \"x\"\n");
    refuses(&abx, &["list"], 2, "E2004", &["config.toml:1:1", "debian_miror", "debian_mirror"]);
}

#[test]
fn offline_and_not_here_is_e5005() {
    let Some(_) = shared() else { return };
    let abx = empty();
    let ran = abx.run(&["create", "--offline", "base"]);
    let stderr = ran.failure(1, "E5005");
    assert!(stderr.contains("offline"), "{stderr}");
    assert!(!abx.state().join("sandboxes").exists() || tree(&abx.state().join("sandboxes")).is_empty());
}

#[test]
fn a_network_that_leads_nowhere_is_told_as_such() {
    let Some(_) = shared() else { return };
    let abx = empty();
    let mut command = abx.command(&["create", "base"]);
    for name in ["http_proxy", "https_proxy"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let ran = run(command);
    assert!(ran.stdout.is_empty() && ran.status == Some(5), "{ran:#?}");
    assert!(ran.stderr.contains("error[E5001]") || ran.stderr.contains("error[E7012]"), "{ran:#?}");
    assert!(
        ran.stderr.contains("127.0.0.1:9") || ran.stderr.contains("proxy"),
        "what stands in the way: {ran:#?}"
    );
    assert_no_halves(&abx);
}

/// No layer, image or entry of a sandbox that a reader could take for a whole one.
fn assert_no_halves(abx: &TestContext) {
    for (folder, mark) in [
        ("store/layers", Some("layer.json")),
        ("store/images", None),
        ("store/staging", None),
        ("sandboxes", None),
    ] {
        for entry in std::fs::read_dir(abx.state().join(folder)).into_iter().flatten().flatten() {
            let is_whole = mark.is_some_and(|mark| entry.path().join(mark).exists());
            assert!(is_whole, "left behind: {}", entry.path().display());
        }
    }
}

/// The command, run by `program`.
fn through(program: &str, words: &[&str], abx: &TestContext, command: &[&str]) -> Ran {
    let inner = abx.command(command);
    let mut outer = Command::new(program);
    outer.args(words).arg(inner.get_program()).args(inner.get_args()).current_dir(abx.folder());
    outer.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(outer)
}

#[test]
fn without_root_it_is_said_what_is_lacking_and_nothing_is_left() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("plain", "base:\n  image: debian:bookworm-slim\n");
    // The state is another user's.
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let program = reachable(&abx);
    let before = tree(abx.state());
    let ran = through_copy("setpriv", &nobody, &abx, &program, &["create", &template]);
    assert!(ran.status == Some(1) && ran.stdout.is_empty(), "{ran:#?}");
    assert!(ran.stderr.contains("error[E2011]"), "{ran:#?}");
    assert!(ran.stderr.contains("help: ") && ran.stderr.contains("root"), "{ran:#?}");
    assert_eq!(tree(abx.state()), before);
    // Reading needs no root.
    let ran = through_copy("setpriv", &nobody, &abx, &program, &["template", "validate", &template]);
    assert_eq!(ran.success(), "plain 0.0.0 is valid\n");
}

/// A copy of the program that other users may execute.
fn reachable(abx: &TestContext) -> String {
    let copy = abx.folder().join("abx-program");
    let program = abx.command(&[]);
    abx_test::copy_program(Path::new(program.get_program()), &copy);
    copy.display().to_string()
}

fn through_copy(program: &str, words: &[&str], abx: &TestContext, copy: &str, command: &[&str]) -> Ran {
    let inner = abx.command(command);
    let mut outer = Command::new(program);
    outer.args(words).arg(copy).args(inner.get_args()).current_dir(abx.folder());
    outer.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(outer)
}

#[test]
fn without_root_nothing_is_fetched_for_nothing() {
    let Some(_) = shared() else { return };
    let abx = empty();
    let program = reachable(&abx);
    std::fs::create_dir(abx.state()).expect("state");
    std::os::unix::fs::chown(abx.state(), Some(65534), Some(65534)).expect("chown");
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    for words in [&["create", "base"][..], &["template", "build", "base"]] {
        let stderr = through_copy("setpriv", &nobody, &abx, &program, words).failure(1, "E2011");
        assert!(stderr.contains("root"), "{stderr}");
    }
    assert_eq!(tree(abx.state()), BTreeMap::new());
}

#[test]
fn a_host_without_namespaces_is_e2011() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("plain", "base:\n  image: debian:bookworm-slim\n");
    abx.run(&["template", "build", &template]).success();
    // Root that may not make namespaces, as in a container.
    let words = ["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"];
    let ran = through("setpriv", &words, &abx, &["create", &template, "--network", "none"]);
    let stderr = ran.failure(1, "E2011");
    assert!(stderr.contains("abx doctor"), "{stderr}");
    assert_eq!(abx.run(&["list", "--json"]).success(), "[]\n");
    assert!(abx.run(&["doctor"]).success().contains("nothing is left"));
}

#[test]
fn a_full_disk_is_told_and_leaves_no_half_entry() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template(
        "large",
        "base:\n  image: debian:bookworm-slim\nbuild:\n  run: [head -c 300M /dev/urandom > /large]\n",
    );
    // The test's own mount namespace: nothing of it is seen outside, and it ends with the command.
    let script = "mount -t tmpfs -o size=200m tmpfs small && mkdir small/state && cp -a state/store small/state/ && \
                  ABX_HOME=$PWD/small/state \"$@\"; status=$?; ABX_HOME=$PWD/small/state \"$1\" doctor --clean >&2; \
                  find small/state/store/staging small/state/sandboxes -mindepth 1 2>/dev/null; exit $status";
    std::fs::create_dir(abx.folder().join("small")).expect("folder");
    let words = ["--mount", "--propagation", "private", "sh", "-c", script, "sh"];
    let ran = through("unshare", &words, &abx, &["create", &template, "--network", "none"]);
    assert!(ran.status == Some(6) && ran.stdout.is_empty(), "{ran:#?}");
    assert!(ran.stderr.to_lowercase().contains("space"), "the reason: {ran:#?}");
    assert!(ran.stderr.contains("help: "), "{ran:#?}");
}
