//! `create` returns when the sandbox is ready; one that does not get ready leaves nothing.

use std::time::{Duration, Instant};

use abx_test::TestContext;

use super::shared;

fn with_sandbox(abx: &TestContext, name: &str, sandbox: &str) -> String {
    abx.template(name, &format!("base:\n  from: base\nsandbox:\n{sandbox}"))
}

#[test]
fn the_startup_command_runs_as_the_user_in_the_workdir_with_the_environment() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: 'id -un > /tmp/started; pwd >> /tmp/started; echo $WORD >> /tmp/started; touch /tmp/done; sleep 1000'\n  \
                   readiness_probe: {type: exec, command: test -e /tmp/done}\n";
    let template = with_sandbox(&abx, "startup", startup);
    let sandbox = abx.create(&[&template, "--network", "none", "--env", "WORD=hello"]);
    assert_eq!(sandbox.sh("cat /tmp/started"), "user\n/app\nhello\n");
}

#[test]
fn a_port_counts_when_something_listens() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: sleep 0.5; exec python3 -m http.server 8000\n  \
                   readiness_probe: {type: tcp, port: 8000, interval: 0.05}\n";
    let template = with_sandbox(&abx, "listening", startup);
    let sandbox = abx.create(&[&template, "--network", "none"]);
    sandbox.sh("curl -fsS http://127.0.0.1:8000/ > /dev/null");
}

#[test]
fn a_startup_command_that_ends_with_0_is_no_failure() {
    let Some(abx) = shared() else { return };
    let template = with_sandbox(&abx, "prepared", "  startup_command: touch /tmp/prepared\n");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    abx_test::wait_until("prepared", || {
        (sandbox.exec(&["test", "-e", "/tmp/prepared"]).status == Some(0)).then_some(())
    });
    let startup = "  startup_command: (sleep 0.3; touch /tmp/late) &\n  readiness_probe: {type: exec, command: test -e /tmp/late}\n";
    let template = with_sandbox(&abx, "forked", startup);
    abx.create(&[&template, "--network", "none"]);
}

/// It must fail, name this, and leave no sandbox.
#[track_caller]
fn fails(abx: &TestContext, template: &str, expected: &[&str]) {
    let name = abx.name("unready");
    let stderr = abx.run(&["create", template, "--network", "none", "--name", &name]).failure(5, "E2010");
    for part in expected {
        assert!(stderr.contains(part), "no {part:?}: {stderr}");
    }
    let info = abx.run(&["info", &name, "--json"]).json();
    assert_eq!((&info["status"], &info["reason"]), (&"ended".into(), &"startup_failed".into()), "{info}");
    let listed = abx.run(&["list", "--json"]).success();
    assert!(!listed.contains(&name), "{listed}");
    assert!(!abx.run(&["doctor"]).success().contains(&name));
}

#[test]
fn a_startup_command_that_fails_is_shown_with_its_last_output() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: 'for i in $(seq 1 15); do echo line $i; done; echo the reason >&2; exit 3'\n  \
                   readiness_probe: {type: tcp, port: 8000}\n";
    let template = with_sandbox(&abx, "failing", startup);
    let begin = Instant::now();
    fails(&abx, &template, &["status 3", "line 15", "the reason"]);
    assert!(begin.elapsed() < Duration::from_secs(20), "it waited for the probe's timeout");
}

#[test]
fn a_probe_that_never_passes_is_given_up_at_its_limit() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: echo waiting for nothing; sleep 1000\n  readiness_probe: {type: tcp, port: 8000, timeout: 1}\n";
    let template = with_sandbox(&abx, "silent", startup);
    fails(&abx, &template, &["1 s", "8000", "waiting for nothing"]);
}

#[test]
fn a_probe_that_hangs_is_cut_at_its_limit() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: echo started; sleep 1000\n  readiness_probe: {type: exec, command: sleep 1000, timeout: 1}\n";
    let template = with_sandbox(&abx, "hanging", startup);
    let begin = Instant::now();
    fails(&abx, &template, &["1 s", "sleep 1000", "started"]);
    assert!(begin.elapsed() < Duration::from_secs(15), "the probe was not cut");
}

#[test]
fn user_workdir_and_shell_are_the_templates() {
    let Some(abx) = shared() else { return };
    let template = with_sandbox(&abx, "own", "  user: builder\n  workdir: /srv/my work\n  shell: /bin/sh\n");
    let sandbox = abx.create(&[&template, "--network", "none"]);
    assert_eq!(
        sandbox.sh("id -un; pwd; stat -c %U .; echo $HOME"),
        "builder\n/srv/my work\nbuilder\n/home/builder\n"
    );
    let info = sandbox.info();
    assert_eq!((&info["user"], &info["shell"]), (&"builder".into(), &"/bin/sh".into()));
    let root = with_sandbox(&abx, "rooted", "  user: root\n");
    let sandbox = abx.create(&[&root, "--network", "none"]);
    assert_eq!(sandbox.sh("id -u; echo $HOME; touch /etc/mine"), "0\n/root\n");
}

#[test]
fn one_that_is_not_ready_yet_can_be_killed() {
    let Some(abx) = shared() else { return };
    let startup = "  startup_command: sleep 1000\n  readiness_probe: {type: tcp, port: 8000, timeout: 120}\n";
    let template = with_sandbox(&abx, "waiting", startup);
    let name = abx.name("waiting");
    let mut command = abx.command(&["create", &template, "--network", "none", "--name", &name]);
    let creator = command.stderr(std::process::Stdio::piped()).spawn().expect("abx");
    abx_test::wait_until("an entry", || (abx.run(&["info", &name]).status == Some(0)).then_some(()));
    let begin = Instant::now();
    abx.run(&["kill", &name]).success();
    let output = creator.wait_with_output().expect("wait");
    assert!(begin.elapsed() < Duration::from_secs(60), "it waited for the probe's timeout");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("killed while it started"), "{stderr}");
}
