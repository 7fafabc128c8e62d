//! Settings and secrets.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Stdio;

use abx_test::Terminal;
use abx_test::github::LoopbackGithub;

use crate::support::{Abx, Ran, skip};

fn file(abx: &Abx, name: &str) -> PathBuf {
    abx.home().join(".abx").join(name)
}

fn text(abx: &Abx, name: &str) -> String {
    std::fs::read_to_string(file(abx, name)).expect(name)
}

fn mode(path: PathBuf) -> u32 {
    path.metadata().expect("there").permissions().mode() & 0o777
}

/// Runs it with something on standard input.
fn fed(abx: &Abx, words: &[&str], input: &str) -> Ran {
    let mut command = abx.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("abx starts");
    child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("input");
    Ran::from(child.wait_with_output().expect("abx ends"))
}

#[test]
fn a_setting_is_set_shown_and_unset_and_comments_stay() {
    let abx = Abx::new();
    let ran = abx.run(&["config", "set", "cache_ttl", "1h"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{ran:#?}");
    assert_eq!(mode(abx.home().join(".abx")), 0o700);
    let commented = format!("# mine\n{}", text(&abx, "config.toml"));
    std::fs::write(file(&abx, "config.toml"), &commented).expect("write");
    assert_eq!(abx.run(&["config", "get", "cache_ttl"]).stdout, "3600\n");
    abx.run(&["config", "set", "registry.docker.io.mirror", "127.0.0.1:5000"]);
    assert_eq!(abx.run(&["config", "get", "registry.\"docker.io\".mirror"]).stdout, "127.0.0.1:5000\n");
    let ran = abx.run(&["config", "unset", "registry.docker.io.mirror"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert_eq!(text(&abx, "config.toml"), commented);
    abx.run(&["config", "unset", "cache_ttl"]);
    assert_eq!(abx.run(&["config", "get", "cache_ttl"]).stdout, "600\n");
}

#[test]
fn the_list_says_where_each_value_comes_from() {
    let abx = Abx::new();
    abx.run(&["config", "set", "debian_mirror", "https://mirror.example/debian"]);
    let mut command = abx.command(&["config", "list", "--json"]);
    let ran = Ran::from(command.env("ABX_CACHE_TTL", "5").output().expect("abx runs"));
    let entries: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).expect("JSON");
    let found = |key: &str| {
        let entry = entries.iter().find(|entry| entry["key"] == key).unwrap_or_else(|| panic!("{key}"));
        (entry["value"].clone(), entry["source"].clone())
    };
    for (key, value, source) in [
        ("cache_ttl", "5", "environment"),
        ("debian_mirror", "https://mirror.example/debian", "file"),
        ("official_repo", "alicloud/sandbox-templates", "default"),
        ("archive.entries", "100000", "default"),
        ("limits.cpu_max", "64", "default"),
    ] {
        assert_eq!(found(key), (value.into(), source.into()), "{key}");
    }
    assert_eq!(found("github_token"), (serde_json::Value::Null, "default".into()));
    let table = abx.run(&["config", "list"]).stdout;
    assert!(table.lines().next().is_some_and(|line| line.split_whitespace().eq(["KEY", "VALUE", "SOURCE"])));
    let warned = Ran::from(
        abx.command(&["config", "set", "cache_ttl", "9"])
            .env("ABX_CACHE_TTL", "5")
            .output()
            .expect("abx runs"),
    );
    assert!(warned.stderr.contains("ABX_CACHE_TTL goes before it"), "{warned:#?}");
}

#[test]
fn what_is_wrong_is_said_and_nothing_written() {
    let abx = Abx::new();
    for (words, message, help) in [
        (&["set", "cach_ttl", "5"][..], "there is no setting `cach_ttl`", "did you mean `cache_ttl`?"),
        (&["set", "cache_ttl", "soon"], "`soon` does not fit `cache_ttl`", "expected: seconds"),
        (&["set", "cache_ttl", "-1"], "`-1` does not fit", "from 0"),
        (&["set", "cache_ttl"], "`cache_ttl` needs a value", "config unset cache_ttl"),
        (&["set", "limits.cpu_max", "0.05"], "`limits.cpu_min` is above `limits.cpu_max`", ""),
        (&["set", "registry.h.example.mirror", "http://x"], "does not fit", "without a scheme"),
        (&["set", "github_api_url", "https://me:pw@h"], "does not fit", "without a password"),
        (&["get", "nothing"], "there is no setting `nothing`", "config list"),
        (&["unset", "nothing"], "there is no setting `nothing`", "config list"),
        (
            &["set", "github_token", "two words"],
            "does not look like a value for `github_token`",
            "copy it again",
        ),
    ] {
        let ran = abx.run(&[&["config"], words].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains("error[E2004]: "), "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains(message) && ran.stderr.contains(help), "{words:?}: {ran:#?}");
        assert!(!ran.stderr.contains("two words"));
    }
    assert!(!file(&abx, "config.toml").exists() && !file(&abx, ".env").exists());
}

#[test]
fn bounds_and_caps_are_obeyed() {
    let abx = Abx::new();
    let template = "version: \"1\"\nmetadata: {name: t}\nbase: {image: \"debian:bookworm-slim\"}\nresources:\n  memory: 4096\n";
    std::fs::create_dir(abx.home().join("t")).expect("mkdir");
    std::fs::write(abx.home().join("t/template.yaml"), template).expect("write");
    assert_eq!(abx.run(&["template", "validate", "./t"]).status, Some(0));
    abx.run(&["config", "set", "limits.memory_max", "2GiB"]);
    let ran = abx.run(&["template", "validate", "./t"]);
    assert_eq!(ran.status, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("./t/template.yaml:5:") && ran.stderr.contains("2048"), "{ran:#?}");
    let ran = abx.run(&["create", "base", "--memory", "4096"]);
    assert_eq!(ran.status, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("error[E2004]: --memory 4096 is outside 64 to 2048"), "{ran:#?}");
    abx.run(&["config", "set", "limits.memory_max", "512GiB"]);
    std::fs::write(abx.home().join("t/template.yaml"), template.replace("4096", "300000")).expect("write");
    assert_eq!(abx.run(&["template", "validate", "./t"]).status, Some(0), "wider than usual");

    let github = LoopbackGithub::start();
    github.put("o/r", "HEAD", &"0a".repeat(20), &[("template.yaml", template), ("b", "b"), ("c", "c")]);
    let resolve = |entries: &str| {
        abx.run(&["config", "set", "archive.entries", entries]);
        let mut command = abx.command(&["template", "resolve", "o/r", "--no-cache"]);
        Ran::from(command.env("ABX_GITHUB_API_URL", github.url()).output().expect("abx runs"))
    };
    let ran = resolve("2");
    assert_eq!(ran.status, Some(6), "{ran:#?}");
    assert!(ran.stderr.contains("error[E5021]"), "{ran:#?}");
    assert_eq!(resolve("20").status, Some(0));
}

#[test]
fn a_file_that_nothing_else_takes_can_be_mended() {
    let abx = Abx::new();
    std::fs::create_dir(abx.home().join(".abx")).expect("mkdir");
    std::fs::write(file(&abx, "config.toml"), "cache_ttl = 5\nno_such_key = 1\n").expect("write");
    let ran = abx.run(&["template", "list"]);
    assert_eq!(ran.status, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("config.toml:2:1"), "{ran:#?}");
    let ran = abx.run(&["config", "unset", "no_such_key"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert_eq!(text(&abx, "config.toml"), "cache_ttl = 5\n");
    assert_eq!(abx.run(&["template", "list"]).status, Some(0));
}

#[test]
fn a_secret_is_stored_apart_and_shown_as_stars() {
    let abx = Abx::new();
    let ran = fed(&abx, &["config", "set", "github_token"], "ghp_Canary1\nmore\n");
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert_eq!(text(&abx, ".env"), "github_token=ghp_Canary1\n");
    assert_eq!((mode(file(&abx, ".env")), mode(abx.home().join(".abx"))), (0o600, 0o700));
    let ran = abx.run(&["config", "set", "github_token", "ghp_Canary2"]);
    assert!(ran.stderr.contains("history"), "{ran:#?}");
    assert_eq!(text(&abx, ".env"), "github_token=ghp_Canary2\n");
    assert_eq!(abx.run(&["config", "get", "github_token"]).stdout, "****\n");
    for words in [&["config", "list"][..], &["config", "list", "--json"], &["config", "get", "GITHUB_TOKEN"]]
    {
        let ran = abx.run(words);
        assert!(ran.stdout.contains("****"), "{ran:#?}");
        assert!(!format!("{ran:?}").contains("Canary"), "{ran:#?}");
    }
    abx.run(&["config", "unset", "github_token"]);
    assert_eq!(text(&abx, ".env"), "");
    let ran = abx.run(&["config", "get", "github_token"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{ran:#?}");
}

#[test]
fn a_secret_among_the_settings_is_moved_away() {
    let abx = Abx::new();
    std::fs::create_dir(abx.home().join(".abx")).expect("mkdir");
    std::fs::write(file(&abx, "config.toml"), "cache_ttl = 5\ngithub_token = \"ghp_Canary\"\n")
        .expect("write");
    let ran = abx.run(&["template", "list"]);
    assert_eq!(ran.status, Some(2), "{ran:#?}");
    assert!(ran.stderr.contains("github_token = ****") && !ran.stderr.contains("Canary"), "{ran:#?}");
    let ran = fed(&abx, &["config", "set", "github_token"], "ghp_new\n");
    assert!(ran.stderr.contains("took github_token out of"), "{ran:#?}");
    assert_eq!(text(&abx, "config.toml"), "cache_ttl = 5\n");
    assert_eq!(abx.run(&["template", "list"]).status, Some(0));
}

#[test]
fn a_secret_is_typed_behind_stars() {
    let abx = Abx::new();
    let mut command = abx.command(&["config", "set", "github_token"]);
    command.env("TERM", "vt220");
    let mut terminal = Terminal::start(command, 40, 200);
    terminal.expect("github_token: ");
    terminal.send("ghp_Canary\r");
    let seen = terminal.expect("**********") + &terminal.expect("stored github_token in");
    assert_eq!(terminal.wait(), Some(0));
    assert!(!seen.contains("Canary") && !terminal.is_raw());
    assert_eq!(text(&abx, ".env"), "github_token=ghp_Canary\n");
}

#[test]
fn loose_secrets_are_closed_and_links_are_not_followed() {
    let abx = Abx::new();
    fed(&abx, &["config", "set", "github_token"], "ghp_a\n");
    std::fs::set_permissions(file(&abx, ".env"), PermissionsExt::from_mode(0o644)).expect("chmod");
    std::fs::set_permissions(abx.home().join(".abx"), PermissionsExt::from_mode(0o755)).expect("chmod");
    let ran = abx.run(&["template", "list"]);
    assert!(ran.stderr.contains(".env was open to others (mode 0644): it is 0600 now"), "{ran:#?}");
    assert_eq!((mode(file(&abx, ".env")), mode(abx.home().join(".abx"))), (0o600, 0o700));
    assert_eq!(abx.run(&["template", "list"]).stderr, "");

    let victim = abx.home().join("victim");
    std::fs::write(&victim, "precious").expect("write");
    std::fs::remove_file(file(&abx, ".env")).expect("remove");
    symlink(&victim, file(&abx, ".env")).expect("link");
    let ran = fed(&abx, &["config", "set", "github_token"], "ghp_b\n");
    assert_eq!(ran.status, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("error[E4002]") && ran.stderr.contains("symbolic link"), "{ran:#?}");
    assert_eq!(std::fs::read_to_string(&victim).expect("victim"), "precious");
    let ran = abx.run(&["template", "list"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert!(ran.stderr.contains("secrets in it are not used"), "{ran:#?}");
}

#[test]
fn settings_may_be_kept_elsewhere() {
    let abx = Abx::new();
    let dotfile = abx.home().join("dotfile");
    std::fs::write(&dotfile, "# mine\n").expect("write");
    std::fs::create_dir(abx.home().join(".abx")).expect("mkdir");
    symlink(&dotfile, file(&abx, "config.toml")).expect("link");
    let ran = abx.run(&["config", "set", "cache_ttl", "5"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    assert!(file(&abx, "config.toml").is_symlink());
    assert!(std::fs::read_to_string(dotfile).expect("dotfile").contains("cache_ttl = 5"));
}

#[test]
fn what_root_writes_in_a_users_home_is_the_users() {
    let abx = Abx::new();
    if std::os::unix::fs::chown(abx.home(), Some(1000), Some(1000)).is_err() {
        return skip("giving files away needs root");
    }
    fed(&abx, &["config", "set", "github_token"], "ghp_a\n");
    abx.run(&["config", "set", "cache_ttl", "5"]);
    for path in [abx.home().join(".abx"), file(&abx, ".env"), file(&abx, "config.toml")] {
        assert_eq!(path.metadata().expect("there").uid(), 1000, "{}", path.display());
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let abx = Abx::new();
    let start = |number: usize| {
        let key = format!("registry.h{number}.example.mirror");
        let mut command = abx.command(&["config", "set", &key, "m.example"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("abx starts")
    };
    let running: Vec<_> = (0..12).map(start).collect();
    for mut child in running {
        assert!(child.wait().expect("wait").success());
    }
    assert_eq!(text(&abx, "config.toml").matches("mirror").count(), 12);
    let left: Vec<_> = std::fs::read_dir(abx.home().join(".abx")).expect("folder").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
