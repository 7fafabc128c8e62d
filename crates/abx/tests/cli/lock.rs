//! `template.lock`: written, gone by, found to have drifted, updated.

use std::path::Path;
use std::process::{Command, Stdio};

use abx_test::github::LoopbackGithub;
use abx_test::registry::{LoopbackRegistry, digest};
use serde_json::{Value, json};

use crate::support::{Abx, Ran};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";
const THREE: &str = "3333333333333333333333333333333333333333";

/// `./mine` inherits from `./near`, that from a range over `o/r`, whose template is made of an image of a registry.
struct World {
    abx: Abx,
    github: LoopbackGithub,
    registry: LoopbackRegistry,
}

impl World {
    fn new() -> Self {
        let world =
            Self { abx: Abx::new(), github: LoopbackGithub::start(), registry: LoopbackRegistry::start() };
        world.image("first");
        world.put("v1.9.0", ONE, "one");
        world.write("mine", &template("mine", "{from: ../near}"));
        world.write("near", &template("near", "{from: \"o/r//child@^1\"}"));
        world
    }

    /// Lets the tag of the image stand for another one.
    fn image(&self, content: &str) {
        let tar = "application/vnd.oci.image.layer.v1.tar";
        let layer = content.as_bytes();
        let config = json!({ "architecture": architecture(), "os": "linux" });
        self.registry.put_image("team/app", "1", &config, &[(tar, layer, digest(layer))]);
    }

    fn image_name(&self) -> String {
        format!("{}/team/app:1", self.registry.host())
    }

    fn put(&self, git_ref: &str, commit: &str, content: &str) {
        let child = template("child", &format!("{{image: \"{}\"}}", self.image_name()));
        let files = [("child/template.yaml", child.as_str()), ("child/files/content", content)];
        self.github.put("o/r", git_ref, commit, &files);
        if git_ref != "HEAD" {
            self.github.tag("o/r", git_ref, commit, false);
        }
    }

    fn write(&self, name: &str, text: &str) {
        let folder = self.abx.home().join(name);
        std::fs::create_dir_all(&folder).expect("mkdir");
        std::fs::write(folder.join("template.yaml"), text).expect("write");
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.abx.command(&[&["template"], words].concat());
        command.env("ABX_GITHUB_API_URL", self.github.url());
        command
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Ran {
        Ran::from(self.command(words).output().expect("abx runs"))
    }

    /// What a successful run wrote to stdout and to stderr.
    #[track_caller]
    fn success(&self, words: &[&str]) -> (String, String) {
        let ran = self.run(words);
        assert_eq!(ran.status, Some(0), "{words:?}: {ran:#?}");
        let host = self.registry.host();
        (ran.stdout.replace(&host, "HOST"), ran.stderr.replace(&host, "HOST"))
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let (stdout, stderr) = self.success(&[words, &["--json"]].concat());
        assert_eq!(stderr, "");
        serde_json::from_str(&stdout).expect("JSON")
    }

    #[track_caller]
    fn failure(&self, words: &[&str], status: i32, code: &str) -> String {
        let ran = self.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains(&format!("error[{code}]: ")), "{words:?}: {ran:#?}");
        ran.stderr
    }

    fn lock(&self) -> String {
        std::fs::read_to_string(self.abx.home().join("mine/template.lock")).expect("the lock")
    }

    /// Everything in the working folder but the program's own state.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        collect(self.abx.home(), &mut files);
        files.sort();
        files
    }
}

fn collect(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in folder.read_dir().expect("list").flatten() {
        match entry.path() {
            path if path.ends_with("state") => {}
            path if path.is_dir() => collect(&path, files),
            path => files.push((path.display().to_string(), std::fs::read(&path).expect("read"))),
        }
    }
}

fn template(name: &str, base: &str) -> String {
    format!("version: \"1\"\nmetadata: {{name: {name}}}\nbase: {base}\n")
}

fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

#[test]
fn a_lock_holds_the_whole_lineage_and_writing_it_again_changes_nothing() {
    let world = World::new();
    let (stdout, stderr) = world.success(&["lock", "./mine"]);
    assert_eq!(
        (stdout.as_str(), stderr.lines().last()),
        ("", Some("wrote ./mine/template.lock: 3 templates"))
    );
    let lock = world.lock();
    for part in [
        "reference = \".\"\nkind = \"directory\"\nname = \"mine\"\nparent = \"../near\"\n",
        "reference = \"../near\"\nkind = \"directory\"\nname = \"near\"\ndigest = \"sha256:",
        &format!(
            "kind = \"github\"\nname = \"child\"\ntag = \"v1.9.0\"\ncommit = \"{ONE}\"\ndigest = \"sha256:"
        ),
        &format!("[base]\nimage = \"{}\"\ndigest = \"sha256:", world.image_name()),
    ] {
        assert!(lock.contains(part), "{part}\n{lock}");
    }
    assert!(
        !lock.contains(&world.abx.home().display().to_string()) && !lock.contains(&world.github.url()),
        "{lock}"
    );
    let (files, asked) = (world.files(), world.registry.requests().len());
    let (_, stderr) = world.success(&["lock", "./mine"]);
    assert_eq!(stderr, "./mine/template.lock holds: 3 templates\n");
    assert_eq!((world.files(), world.registry.requests().len()), (files, asked));
    assert_eq!(world.json(&["lock", "./mine"])["written"], false);
}

#[test]
fn what_moves_is_had_as_it_was_locked_until_an_update() {
    let world = World::new();
    world.success(&["lock", "./mine"]);
    world.put("v1.10.0", TWO, "two");
    world.put("v2.0.0", THREE, "three");
    world.image("second");
    std::fs::remove_dir_all(world.abx.home().join("state")).expect("another machine");
    let before = world.lock();
    world.success(&["validate", "./mine", "--frozen"]);
    assert_eq!((world.github.asked(ONE).is_empty(), world.github.asked(TWO).is_empty()), (false, true));
    world.success(&["lock", "./mine"]);
    world.success(&["lock", "./mine", "--frozen"]);
    assert_eq!(world.lock(), before);

    let (table, _) = world.success(&["outdated", "./mine"]);
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["REFERENCE", "LOCKED", "WANTED", "LATEST"]);
    assert_eq!(rows[2], ["o/r//child@^1", "v1.9.0", "v1.10.0", "v2.0.0"]);
    assert_eq!((rows[3][0], rows[3][1] == rows[3][2]), ("HOST/team/app:1", false));
    let outdated = world.json(&["outdated", "./mine"]);
    let states: Vec<_> =
        outdated.as_array().expect("rows").iter().map(|row| row["outdated"].clone()).collect();
    assert_eq!(states, [false, true, true]);

    let (table, stderr) = world.success(&["update", "./mine", "--dry-run"]);
    assert!(stderr.ends_with("./mine/template.lock is left as it is\n"), "{stderr}");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "LOCKED", "NEW"]);
    assert_eq!(rows[1], ["o/r//child@^1", "v1.9.0", "(111111111111)", "v1.10.0", "(222222222222)"]);
    assert_eq!((rows[2][0], rows.len()), ("HOST/team/app:1", 3));
    assert_eq!(world.lock(), before);

    world.success(&["update", "./mine"]);
    assert!(world.lock().contains(TWO) && world.lock().contains("\"v1.10.0\""), "{}", world.lock());
    let (table, stderr) = world.success(&["update", "./mine"]);
    assert_eq!(
        (table.as_str(), stderr.lines().last()),
        ("", Some("./mine/template.lock holds: 3 templates"))
    );
}

#[test]
fn frozen_fails_on_what_drifted_says_which_and_writes_nothing() {
    let world = World::new();
    let stderr = world.failure(&["validate", "./mine", "--frozen"], 1, "E2008");
    assert!(stderr.contains("`abx template lock ./mine` writes it"), "{stderr}");
    world.failure(&["lock", "./mine", "--frozen"], 1, "E2008");
    assert!(!world.abx.home().join("mine/template.lock").exists());
    world.success(&["lock", "./mine"]);
    world.write("near", &(template("near", "{from: \"o/r//child@^1\"}") + "network: {ports: [80]}\n"));
    let files = world.files();
    for verb in ["validate", "resolve", "lock"] {
        let stderr = world.failure(&[verb, "./mine", "--frozen"], 1, "E2008");
        assert!(stderr.contains("./mine/template.lock no longer holds: one entry differs"), "{stderr}");
        assert!(stderr.contains("`../near`: locked sha256:"), "{stderr}");
        assert!(stderr.contains("help: `abx template lock ./mine`"), "{stderr}");
    }
    let ran = world.run(&["validate", "./mine", "--frozen", "--json"]);
    let error = ran.error_object();
    assert_eq!((&error["code"], error["details"].as_array().map(Vec::len)), (&json!("E2008"), Some(1)));
    // Without it, the change is told and taken.
    let (_, stderr) = world.success(&["validate", "./mine"]);
    assert!(stderr.contains("./mine/template.lock: `../near`: locked sha256:"), "{stderr}");
    assert_eq!(world.files(), files);
    world.write("near", &template("near", "{from: \"o/r//child@v1.9.0\"}"));
    let stderr = world.failure(&["validate", "./mine", "--frozen"], 1, "E2008");
    let parent = "the parent of `../near`: locked `o/r//child@^1`, found `o/r//child@v1.9.0`";
    assert!(stderr.contains(parent) && stderr.contains("2 entries differ"), "{stderr}");
    world.success(&["lock", "./mine"]);
    world.success(&["lock", "./mine", "--frozen"]);
}

#[test]
fn the_lock_of_a_repository_is_in_the_working_directory_and_of_that_reference_alone() {
    let world = World::new();
    world.put("HEAD", ONE, "one");
    world.success(&["lock", "o/r//child"]);
    let path = world.abx.home().join("template.lock");
    let lock = std::fs::read_to_string(&path).expect("the lock");
    assert!(lock.contains("reference = \"o/r//child\"\nkind = \"github\"\n") && lock.contains(ONE), "{lock}");
    world.put("HEAD", TWO, "two");
    let (stdout, stderr) = world.success(&["resolve", "o/r//child"]);
    assert!(
        stdout.contains(ONE) && stderr.contains("template.lock holds for o/r//child"),
        "{stdout}{stderr}"
    );
    let (stdout, stderr) = world.success(&["resolve", "o/r//child@^1"]);
    assert!(stdout.contains(ONE) && !stderr.contains("template.lock"), "{stdout}{stderr}");
    let stderr = world.failure(&["lock", "o/r//child@^1"], 2, "E2004");
    assert!(
        stderr.contains("template.lock is the lock of `o/r//child`") && stderr.contains("-o FILE"),
        "{stderr}"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("the lock"), lock);
    world.success(&["lock", "o/r//child@^1", "-o", "other.lock"]);
    assert!(world.abx.home().join("other.lock").exists());
    let stderr = world.failure(&["validate", "o/r//child@^1", "--frozen"], 1, "E2008");
    assert!(stderr.contains("the template.lock that is there is of `o/r//child`"), "{stderr}");
}

#[test]
fn what_is_no_lock_stops_everything_and_stays_as_it_is() {
    let world = World::new();
    let path = world.abx.home().join("mine/template.lock");
    for (text, place) in [
        ("version = 1\nsecret = 2\n", "./mine/template.lock:2:1"),
        ("version = 2\n", "./mine/template.lock has version 2, and this program reads version 1"),
    ] {
        std::fs::write(&path, text).expect("write");
        for verb in ["lock", "update", "validate", "outdated", "resolve"] {
            let stderr = world.failure(&[verb, "./mine"], 2, "E2004");
            assert!(stderr.contains(place), "{verb}: {stderr}");
        }
        assert_eq!(world.lock(), text);
    }
    world.failure(&["outdated", "./near"], 1, "E2008");
}

#[test]
fn what_does_not_resolve_leaves_the_lock_alone() {
    let world = World::new();
    world.success(&["lock", "./mine"]);
    let before = world.lock();
    world.write("near", &template("near", "{from: \"o/none\"}"));
    world.failure(&["lock", "./mine"], 4, "E2001");
    world.failure(&["update", "./mine"], 4, "E2001");
    world.write("near", &template("near", &format!("{{image: \"{}/team/none:1\"}}", world.registry.host())));
    let ran = world.run(&["lock", "./mine"]);
    assert_ne!(ran.status, Some(0), "{ran:#?}");
    assert_eq!(world.lock(), before);
}

#[test]
fn an_image_that_a_reference_names_is_held_by_its_digest() {
    let world = World::new();
    let name = world.image_name();
    world.write("on-image", &template("on-image", &format!("{{from: \"docker://{name}\"}}")));
    world.success(&["lock", "./on-image"]);
    let path = world.abx.home().join("on-image/template.lock");
    let before = std::fs::read_to_string(&path).expect("the lock");
    world.image("second");
    std::fs::remove_dir_all(world.abx.home().join("state")).expect("another machine");
    world.success(&["lock", "./on-image"]);
    world.success(&["lock", "./on-image", "--frozen"]);
    assert_eq!(std::fs::read_to_string(&path).expect("the lock"), before);
    let outdated = world.json(&["outdated", "./on-image"]);
    assert_eq!(outdated[0]["outdated"], true, "{outdated:#}");
    let (table, _) = world.success(&["update", "./on-image"]);
    assert_eq!(table.lines().count(), 2, "{table}");
    assert_ne!(std::fs::read_to_string(&path).expect("the lock"), before);
    let outdated = world.json(&["outdated", "./on-image"]);
    assert_eq!(outdated[0]["outdated"], false, "{outdated:#}");
    // The image itself.
    let reference = format!("docker://{name}");
    world.success(&["lock", &reference]);
    let lock = std::fs::read_to_string(world.abx.home().join("template.lock")).expect("the lock");
    assert!(lock.contains("kind = \"image\"\n\n[base]\n"), "{lock}");
    world.success(&["resolve", &reference, "--frozen"]);
    world.image("third");
    world.success(&["lock", &reference, "--frozen"]);
}

#[test]
fn several_at_a_time_leave_one_whole_lock() {
    let world = World::new();
    let start = || {
        let mut command = world.command(&["lock", "./mine"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("abx starts")
    };
    let running: Vec<_> = (0..5).map(|_| start()).collect();
    for child in running {
        let output = child.wait_with_output().expect("abx ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    world.success(&["lock", "./mine", "--frozen"]);
    let names: Vec<_> =
        world.files().into_iter().map(|(path, _)| path).filter(|path| path.contains("mine")).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}
