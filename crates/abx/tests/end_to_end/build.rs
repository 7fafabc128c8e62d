//! How a template's steps become layers: what runs, what is used again, how a failure is told.

use std::process::{Command, Stdio};

use abx_test::{Ran, TestContext, wait_until};

use super::{with_debian, with_python};

const DEBIAN: &str = "base:\n  image: debian:bookworm-slim\n";

/// Builds the template with lines of progress.
#[track_caller]
fn build(abx: &TestContext, template: &str) -> Ran {
    let ran = abx.run(&["-v", "template", "build", template, "--progress", "plain"]);
    assert_eq!(ran.status, Some(0), "{ran:#?}");
    ran
}

/// What a file in the image of the template holds.
#[track_caller]
fn read(abx: &TestContext, template: &str, path: &str) -> String {
    abx.run(&["-q", "create", "--rm", "--network", "none", template, "--", "cat", path]).success()
}

/// The image, and whether each `run` step, which leaves a word of chance in a file, was run by this build.
fn chance(name: &str) -> String {
    format!("head -c 8 /dev/urandom | od -An -tx8 > /chance-{name}")
}

#[test]
fn every_step_does_what_the_template_says() {
    let Some(abx) = with_python() else { return };
    let template = abx.template(
        "whole",
        "base:
  from: python-base
build:
  apt_install: [hello]
  pip_install: [iniconfig]
  env:
    PATH: \"/opt/tool/bin:$PATH\"
    COUNT: 3
    PRICE: \"5$$\"
  copy:
    - {src: ./config/, dest: /app/config/}
    - {src: ./tool, dest: /opt/tool/bin/}
    - {src: ./tool, dest: /usr/local/bin/renamed}
  run:
    - \"tool > /srv/by-run; id -u >> /srv/by-run; echo $HOME $COUNT >> /srv/by-run; pwd >> /srv/by-run\"
    - |
      cat /app/from-files config/a >> /srv/by-run
      false | true || echo pipefail >> /srv/by-run
network:
  ports: [8000]
sandbox:
  startup_command: python -m http.server 8000
  readiness_probe: {type: tcp, port: 8000}
",
    );
    abx.write("whole/config/a", "a of config\n");
    abx.write("whole/config/deep/b", "b\n");
    abx.write("whole/tool", "#!/bin/sh\necho tool runs\n");
    abx.write("whole/files/from-files", "from files\n");
    abx.write("whole/files/bin/start", "#!/bin/sh\n");
    abx.write(
        "whole/scripts/setup.sh",
        "#!/bin/sh\nset -e\nid -u > /srv/by-setup\ncat /srv/by-run | wc -l >> /srv/by-setup\n",
    );
    abx.write("whole/README.md", "not in the image\n");
    abx.write("whole/AGENTS.md", "not in the image\n");
    abx.write("whole/examples/one.sh", "#!/bin/sh\n");
    let sandbox = abx.create(&[&template]);
    assert_eq!(
        sandbox.sh("cat /srv/by-run"),
        "tool runs\n0\n/root 3\n/app\nfrom files\na of config\npipefail\n"
    );
    assert_eq!(sandbox.sh("cat /srv/by-setup"), "0\n7\n");
    assert_eq!(sandbox.sh("hello; python3 -c 'import iniconfig, requests'"), "Hello, world!\n");
    // pip installs for all users.
    assert_eq!(sandbox.root_sh("python3 -c 'import iniconfig'; echo $?"), "0\n");
    assert_eq!(sandbox.sh("renamed; tool; echo \"$COUNT $PRICE\""), "tool runs\ntool runs\n3 5$\n");
    let path = "echo $PATH | cut -d: -f1";
    assert_eq!(sandbox.sh(path), "/opt/tool/bin\n");
    assert_eq!(sandbox.exec(&["bash", "-lc", path]).success(), "/opt/tool/bin\n");
    // Copies below the workdir are the user's, others root's; modes are kept.
    let stat = "stat -c '%U %a %n' config config/a config/deep/b from-files bin/start /opt/tool/bin/tool /usr/local/bin/renamed";
    let expected = "user 755 config\nuser 644 config/a\nuser 644 config/deep/b\nuser 644 from-files\nuser 755 bin/start\n\
                    root 755 /opt/tool/bin/tool\nroot 755 /usr/local/bin/renamed\n";
    assert_eq!(sandbox.sh(stat), expected);
    assert_eq!(sandbox.sh("find / -xdev -name AGENTS.md -o -xdev -name one.sh 2>/dev/null | wc -l"), "0\n");
    sandbox.sh("curl -fsS http://127.0.0.1:8000/ > /dev/null");
}

#[test]
fn npm_installs_for_all() {
    let Some(abx) = with_python() else { return };
    let search = abx.run(&[
        "-q",
        "create",
        "--rm",
        "base",
        "--",
        "sh",
        "-c",
        "sudo apt-get -qq update; apt-cache show npm",
    ]);
    if search.status != Some(0) {
        abx_test::skip("no npm in the package archive");
        return;
    }
    // Installing Debian's npm takes half a minute; that the image lacks it is told at once.
    let template = abx.template("noded", "base:\n  from: base\nbuild:\n  npm_install: [is-odd]\n");
    let stderr = abx.run(&["template", "build", &template]).failure(1, "E7010");
    assert!(stderr.contains("npm") && stderr.contains("template.yaml"), "{stderr}");
}

#[test]
fn nothing_is_built_twice_and_a_changed_file_rebuilds_what_follows_it() {
    let Some(abx) = with_debian() else { return };
    let steps = format!(
        "build:\n  copy:\n    - {{src: one, dest: /one}}\n    - {{src: two, dest: /two}}\n  run:\n    - {}\n    - {}\n",
        chance("a"),
        chance("b")
    );
    let template = abx.template("cached", &format!("{DEBIAN}{steps}"));
    abx.write("cached/one", "1");
    abx.write("cached/two", "2");
    let image = build(&abx, &template).stdout;
    let (a, b) = (read(&abx, &template, "/chance-a"), read(&abx, &template, "/chance-b"));

    // Time alone changes nothing.
    abx.write("cached/one", "1");
    assert_eq!(build(&abx, &template).stdout, image);

    // The steps of another template are the same steps.
    let twin = abx.template("twin", &format!("{DEBIAN}{}", steps.replace(&chance("b"), &chance("c"))));
    abx.write("twin/one", "1");
    abx.write("twin/two", "2");
    build(&abx, &twin);
    assert_eq!(read(&abx, &twin, "/chance-a"), a);

    // A new last step leaves those before alone.
    let text = std::fs::read_to_string(abx.folder().join("cached/template.yaml")).expect("template");
    abx.write("cached/template.yaml", format!("{text}    - {}\n", chance("d")));
    build(&abx, &template);
    assert_eq!(
        (read(&abx, &template, "/chance-a"), read(&abx, &template, "/chance-b")),
        (a.clone(), b.clone())
    );

    // A changed file changes its own copy and the run steps that may read it.
    abx.write("cached/two", "3");
    let log = build(&abx, &template).stderr;
    assert_eq!(read(&abx, &template, "/two"), "3");
    assert_ne!(read(&abx, &template, "/chance-a"), a);
    assert_ne!(read(&abx, &template, "/chance-b"), b);
    let first_copy =
        log.lines().find(|line| line.contains("one") && line.contains("copy")).unwrap_or_default();
    assert!(!first_copy.ends_with(": done"), "the first copy was made again: {log}");

    // Back again is a look into the cache.
    abx.write("cached/two", "2");
    build(&abx, &template);
    assert_eq!((read(&abx, &template, "/chance-a"), read(&abx, &template, "/chance-b")), (a, b));
}

#[test]
fn a_change_of_the_environment_rebuilds_run_steps_but_no_packages() {
    let Some(abx) = with_python() else { return };
    let rest = |value: &str| {
        format!(
            "base:\n  from: base\nbuild:\n  apt_install: [hello]\n  env: {{MODE: {value}}}\n  run: [echo $MODE > /mode]\n"
        )
    };
    let template = abx.template("modes", &rest("one"));
    build(&abx, &template);
    abx.template("modes", &rest("two"));
    // Without a network, so the packages cannot be had again.
    let ran =
        abx.run(&["-q", "create", "--offline", "--rm", "--network", "none", &template, "--", "cat", "/mode"]);
    if ran.status != Some(0) {
        build(&abx, &template);
        assert_eq!(read(&abx, &template, "/mode"), "two\n");
        return;
    }
    assert_eq!(ran.success(), "two\n");
}

#[test]
fn no_cache_builds_anew() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("anew", &format!("{DEBIAN}build:\n  run: [{}]\n", chance("a")));
    build(&abx, &template);
    let before = read(&abx, &template, "/chance-a");
    abx.run(&["-q", "create", "--rm", "--no-cache", "--network", "none", &template, "--", "true"]).success();
    assert_ne!(read(&abx, &template, "/chance-a"), before);
}

#[test]
fn a_failed_step_says_which_where_and_why_and_the_next_run_goes_on_from_there() {
    let Some(abx) = with_debian() else { return };
    let steps = format!(
        "build:\n  run:\n    - {}\n    - for i in $(seq 1 40); do echo line $i; done; echo because of this >&2; exit 42\n",
        chance("a")
    );
    let template = abx.template("broken", &format!("{DEBIAN}{steps}"));
    let stderr = abx.run(&["create", &template, "--network", "none"]).failure(1, "E7010");
    for part in ["status 42", "broken/template.yaml:9:7", "exit 42", "line 40", "because of this"] {
        assert!(stderr.contains(part), "no {part:?}: {stderr}");
    }
    assert!(!stderr.contains("line 20\n"), "more than the last 20 lines: {stderr}");
    let log = stderr.split_whitespace().find(|word| word.ends_with(".log")).expect("the path of the log");
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains("line 1\n") && log.contains("because of this"), "{log}");
    assert_eq!(abx.run(&["list", "--json"]).success(), "[]\n");

    let object = abx.run(&["create", &template, "--network", "none", "--json"]).error_object();
    assert_eq!((&object["code"], &object["line"]), (&"E7010".into(), &9.into()));

    let text = std::fs::read_to_string(abx.folder().join("broken/template.yaml")).expect("template");
    abx.write("broken/template.yaml", text.replace("exit 42", "cp /chance-a /kept"));
    let log = build(&abx, &template).stderr;
    assert_eq!(read(&abx, &template, "/kept"), read(&abx, &template, "/chance-a"));
    assert!(!log.lines().any(|line| line.contains("chance-a >") && line.ends_with(": done")), "{log}");
}

#[test]
fn a_step_is_stopped_at_once_and_finished_ones_are_kept() {
    let Some(abx) = with_debian() else { return };
    let steps = format!("build:\n  run:\n    - {}\n    - touch /here; sleep 1006\n", chance("a"));
    let template = abx.template("long", &format!("{DEBIAN}{steps}"));
    let mut command = abx.command(&["create", &template]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("abx");
    let sleeps = || {
        let output = Command::new("pgrep").args(["-x", "-f", "sleep 1006"]).output().expect("pgrep");
        output.status.success()
    };
    wait_until("the second step", || sleeps().then_some(()));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert_eq!(child.wait().expect("wait").code(), Some(130));
    wait_until("the end of the step", || (!sleeps()).then_some(()));
    assert!(abx.run(&["doctor"]).success().contains("nothing is left"));
    let text = std::fs::read_to_string(abx.folder().join("long/template.yaml")).expect("template");
    abx.write("long/template.yaml", text.replace("; sleep 1006", "; cp /chance-a /kept"));
    let log = build(&abx, &template).stderr;
    assert!(!log.lines().any(|line| line.contains("chance-a >") && line.ends_with(": done")), "{log}");
}

#[test]
fn two_creates_of_the_same_template_build_it_once() {
    let Some(abx) = with_debian() else { return };
    let steps = format!("build:\n  run:\n    - {}; sleep 1\n    - {}\n", chance("a"), chance("b"));
    let template = abx.template("twice", &format!("{DEBIAN}{steps}"));
    let words =
        ["-q", "create", "--rm", "--network", "none", &template, "--", "cat", "/chance-a", "/chance-b"];
    let outputs: Vec<String> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| abx.run(&words).success())).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    assert!(outputs.iter().all(|output| *output == outputs[0]), "{outputs:?}");
}

#[test]
fn packages_that_do_not_exist_are_named() {
    let Some(abx) = with_python() else { return };
    for (step, package) in [("apt_install", "no-such-package-abx"), ("pip_install", "no-such-package-abx")] {
        let template =
            abx.template(step, &format!("base:\n  from: python-base\nbuild:\n  {step}: [{package}]\n"));
        let stderr = abx.run(&["create", &template]).failure(1, "E7010");
        for part in [step, package, "template.yaml:7:"] {
            assert!(stderr.contains(part), "no {part:?}: {stderr}");
        }
    }
    assert_eq!(abx.run(&["list", "--json"]).success(), "[]\n");
}

#[test]
fn the_user_gets_the_next_number_where_its_own_is_taken() {
    let Some(abx) = with_debian() else { return };
    let parent = "sandbox:\n  user: root\nbuild:\n  run: [useradd --uid 1000 taken]\n";
    abx.template("parent", &format!("{DEBIAN}{parent}"));
    let child = abx.template("child", "base:\n  from: ../parent\nsandbox:\n  user: user\n");
    let words = [
        "-q",
        "create",
        "--rm",
        "--network",
        "none",
        &child,
        "--",
        "sh",
        "-c",
        "id -un; id -u; stat -c %U /app ~",
    ];
    assert_eq!(abx.run(&words).success(), "user\n1001\nuser\nuser\n");
}

#[test]
fn a_user_of_the_image_is_used_as_it_is() {
    let Some(abx) = with_debian() else { return };
    let template = abx.template("www", &format!("{DEBIAN}sandbox:\n  user: www-data\n"));
    let words = [
        "-q",
        "create",
        "--rm",
        "--network",
        "none",
        &template,
        "--",
        "sh",
        "-c",
        "id -u; echo $HOME; touch here",
    ];
    assert_eq!(abx.run(&words).success(), "33\n/var/www\n");
}

#[test]
fn without_a_network_for_the_sandbox_the_build_has_one() {
    let Some(abx) = with_python() else { return };
    let template = abx.template(
        "fetched",
        "base:\n  from: base\nbuild:\n  run: [apt-get -qq update && apt-get -qq install -y hello]\n",
    );
    let ran = abx.run(&["-q", "create", "--rm", "--network", "none", &template, "--", "hello"]);
    assert_eq!(ran.success(), "Hello, world!\n");
}

#[test]
fn a_step_waits_for_no_input_and_leaves_no_process() {
    let Some(abx) = with_debian() else { return };
    let steps = "build:\n  run:\n    - cat > /input; sleep 1008 & echo on > /made\n";
    let template = abx.template("quiet", &format!("{DEBIAN}{steps}"));
    build(&abx, &template);
    assert_eq!(read(&abx, &template, "/input"), "");
    let output = Command::new("pgrep").args(["-x", "-f", "sleep 1008"]).output().expect("pgrep");
    assert!(!output.status.success());
}
