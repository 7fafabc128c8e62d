//! `abx snapshot`: a template of what a sandbox has written.

use abx_test::wait_until;

use super::{shared, with_debian};

const SERVES: &str = "\
base:
  from: base
build:
  env:
    GREETING: hello
network:
  ports: [8000]
sandbox:
  workdir: /app
  startup_command: while :; do sleep 1000; done
";

#[test]
fn what_was_written_is_in_the_template_and_what_was_laid_over_is_not() {
    let Some(abx) = shared() else { return };
    let template = abx.template("source", SERVES);
    let words = [&template, "--network", "none", "--env", "SECRET=not-in-the-template", "--memory", "777"];
    let sandbox = abx.create(&words);
    sandbox.sh("echo mine > file; mkdir -p deep/er; echo x > deep/er/x; chmod 640 file; ln -s file link; ln file hard");
    sandbox.root_sh(
        "rm /etc/issue; rm -r /etc/skel && mkdir /etc/skel && touch /etc/skel/only; chown 33:44 /app/deep; \
         mkfifo /app/pipe; cp /bin/true /usr/bin/may; setcap cap_net_raw+ep /usr/bin/may 2>/dev/null || true; \
         python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/app/socket\")'",
    );
    let name = abx.name("taken").to_lowercase();
    let made = abx.run(&["snapshot", &sandbox.id, &format!("{name}:1.2.0"), "--json"]);
    let value = made.json();
    assert_eq!((&value["name"], &value["tag"]), (&name.as_str().into(), &"1.2.0".into()), "{made:#?}");
    // It goes on as if nothing had been.
    assert_eq!(sandbox.sh("cat file"), "mine\n");
    abx.run(&["kill", &sandbox.id]).success();

    let listed = abx.run(&["template", "list", "--json"]).json();
    assert!(listed.as_array().expect("a list").iter().any(|one| one["name"] == name.as_str()), "{listed}");
    let again = abx.create(&[&name, "--network", "none"]);
    let info = again.info();
    assert_eq!(
        (&info["memory"], &info["workdir"], &info["user"]),
        (&777.into(), &"/app".into(), &"user".into())
    );
    assert_eq!(info["ports"][0]["guest"], 8000);
    assert_eq!(
        again.sh("cat file deep/er/x; stat -c '%a %h' file; readlink link; stat -c %u:%g deep; echo $GREETING $SECRET; pwd"),
        "mine\nx\n640 2\nfile\n33:44\nhello\n/app\n"
    );
    again.sh("test ! -e /etc/issue; test \"$(ls -A /etc/skel)\" = only; test -p pipe; test ! -e socket; grep -q localhost /etc/hosts");
    assert_eq!(
        again
            .root_sh("getcap /usr/bin/may 2>/dev/null | grep -c net_raw || true; ls -A /app | sort | head -1")
            .trim_end()
            .len(),
        "1\ndeep".len()
    );
    // The same layer serves what inherits from it.
    let child = abx
        .template("child", &format!("base:\n  from: {name}\nbuild:\n  run:\n    - cat file > /app/copied\n"));
    let child = abx.create(&[&child, "--network", "none"]);
    assert_eq!(child.sh("cat copied"), "mine\n");
    let file = abx.folder().join("image.tar");
    abx.run(&["template", "export", &format!("{name}:1.2.0"), "-o", file.to_str().expect("text")]).success();
    let listing = std::process::Command::new("sh")
        .args([
            "-c",
            "tar -xOf \"$0\" --wildcards 'blobs/*/*' 2>/dev/null | grep -ac not-in-the-template; true",
        ])
        .arg(&file)
        .output()
        .expect("tar");
    assert_eq!(String::from_utf8_lossy(&listing.stdout).trim(), "0");
}

#[test]
fn one_that_is_paused_or_stopped_stays_so() {
    let Some(abx) = with_debian() else { return };
    let template =
        abx.template("kept", "base:\n  image: debian:bookworm-slim\nsandbox:\n  mode: persistent\n");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    sandbox.root_sh("echo one > /note");
    abx.run(&["pause", &sandbox.id]).success();
    let said = abx.run(&["snapshot", &sandbox.id, "paused"]).stderr;
    assert!(said.contains("made paused:latest of"), "{said}");
    assert_eq!(sandbox.info()["status"], "paused");
    sandbox.root_sh("echo two > /note; sync");
    let record = abx.state().join("sandboxes").join(&sandbox.id).join("sandbox.json");
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(record).expect("record")).expect("json");
    let monitor = record["monitor"].to_string();
    assert!(std::process::Command::new("kill").args(["-KILL", &monitor]).status().expect("kill").success());
    wait_until("a stop", || (sandbox.info()["status"] == "stopped").then_some(()));
    abx.run(&["snapshot", &sandbox.id, "stopped"]).success();
    assert_eq!(sandbox.info()["status"], "stopped");
    for (name, expect) in [("paused", "one\n"), ("stopped", "two\n")] {
        let of = abx.create(&[name, "--network", "none"]);
        assert_eq!(of.sh("cat /note"), expect, "{name}");
        assert_eq!(of.info()["mode"], "persistent");
    }
    // Nothing of its disk is in use by us afterwards.
    assert_eq!(sandbox.root_sh("cat /note"), "two\n");
}

#[test]
fn what_is_copied_is_of_one_moment() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("busy", "base:\n  image: debian:bookworm-slim\n");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    // Two files that are written one after the other: the second is never ahead.
    sandbox.root_sh(
        "mkdir /a /z; nohup sh -c 'i=0; while :; do i=$((i+1)); echo $i > /z/n; echo $i > /a/n; done' >/dev/null 2>&1 &",
    );
    wait_until("a start", || (sandbox.exec(&["test", "-s", "/a/n"]).status == Some(0)).then_some(()));
    abx.run(&["snapshot", &sandbox.id, "moment"]).success();
    let of = abx.create(&["moment", "--network", "none"]);
    let numbers = of.root_sh("cat /z/n /a/n");
    let mut numbers = numbers.lines().map(|line| line.parse::<i64>().unwrap_or(-1));
    let (z, a) = (numbers.next().expect("z"), numbers.next().unwrap_or(-1));
    // A file that was being written is empty.
    assert!(z == -1 || a == -1 || (0..=1).contains(&(z - a)), "{z} and {a}");
    // It goes on.
    let before = sandbox.root_sh("cat /z/n");
    wait_until("more", || (sandbox.root_sh("cat /z/n") != before).then_some(()));
}

#[test]
fn a_name_that_no_template_can_have_is_refused() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    for name in ["a/b", "a:^1", "", "a:b:c"] {
        let ran = abx.run(&["snapshot", &sandbox.id, name]);
        assert!(ran.status == Some(2) && ran.stdout.is_empty(), "{name}: {ran:#?}");
    }
    abx.run(&["snapshot", "no-such-sandbox", "a"]).failure(4, "E2009");
}
