//! `abx exec`: whose command, where, with what, and how it ends.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::shared;

#[test]
fn output_and_status_pass_and_a_name_or_a_prefix_will_do() {
    let Some(abx) = shared() else { return };
    let name = abx.name("exec");
    let sandbox = abx.create(&["base", "--network", "none", "--name", &name]);
    for which in [&sandbox.id, &name, &sandbox.id[..12]] {
        let ran = abx.run(&["exec", which, "--", "sh", "-c", "echo out; echo err >&2; exit 3"]);
        assert_eq!(
            (ran.status, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(3), "out\n", "err\n"),
            "{which}"
        );
    }
}

#[test]
fn a_command_starts_as_the_templates_user_in_its_folder_unless_told_otherwise() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    assert_eq!(sandbox.sh("id -un; pwd; echo $HOME $USER"), "user\n/app\n/home/user user\n");
    let words = ["exec", &sandbox.id, "--user", "root", "--cwd", "/etc", "--env", "A=b c=d", "--"];
    let script = ["sh", "-c", "id -u; pwd; echo $HOME; echo \"$A\""];
    assert_eq!(abx.run(&[&words[..], &script].concat()).success(), "0\n/etc\n/root\nb c=d\n");
    for words in [["--user", "nobody-here"], ["--cwd", "/no/such/folder"], ["--cwd", "/etc/passwd"]] {
        let ran = abx.run(&["exec", &sandbox.id, words[0], words[1], "--", "true"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(125), ""), "{words:?}: {ran:#?}");
        assert!(ran.stderr.starts_with("error[E3"), "{words:?}: {ran:#?}");
    }
}

#[test]
fn arguments_pass_as_they_are() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let ran = sandbox.exec(&["printf", "%s|", "a b", "", "$HOME", "*", "--json", "'\"\\", "ü\n名"]);
    assert_eq!(ran.success(), "a b||$HOME|*|--json|'\"\\|ü\n名|");
}

#[test]
fn standard_input_passes_whole_and_ends() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let content: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut command = abx.command(&["exec", "-i", &sandbox.id, "--", "sha256sum"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("abx");
    child.stdin.take().expect("piped").write_all(&content).expect("write");
    let output = child.wait_with_output().expect("abx ends");
    let expected: String = Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{expected}  -\n"));
}

#[test]
fn much_output_arrives_whole_on_both_streams() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let script = "seq 1 600000; echo end >&2; seq 600001 1200000 >&2";
    let ran = sandbox.exec(&["sh", "-c", script]);
    assert_eq!(ran.status, Some(0));
    let lines =
        |first: u32, last: u32| (first..=last).map(|number| format!("{number}\n")).collect::<String>();
    assert!(ran.stdout == lines(1, 600_000), "stdout is not whole");
    assert!(ran.stderr == format!("end\n{}", lines(600_001, 1_200_000)), "stderr is not whole");
}

#[test]
fn a_reader_that_has_enough_ends_the_command_quietly() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let errors = abx.folder().join("errors");
    let mut command = abx.command(&["exec", &sandbox.id, "--", "yes"]);
    let errors_end = File::create(&errors).expect("file");
    let mut child = command.stdout(Stdio::piped()).stderr(errors_end).spawn().expect("abx");
    let head = Command::new("head").args(["-n", "2"]).stdin(child.stdout.take().expect("piped")).output();
    assert_eq!(head.expect("head").stdout, b"y\ny\n");
    abx_test::wait_until("the end", || child.try_wait().expect("wait"));
    assert_eq!(std::fs::read_to_string(errors).expect("errors"), "");
    abx_test::wait_until("no `yes` inside", || {
        (sandbox.exec(&["pgrep", "-x", "yes"]).status == Some(1)).then_some(())
    });
}

#[test]
fn a_command_whose_time_is_up_is_killed_with_all_it_started() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let script = "sleep 1001 & echo begun; sleep 1002";
    let ran = abx.run(&["exec", &sandbox.id, "--timeout", "1", "--", "sh", "-c", script]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(137), "begun\n"), "{ran:#?}");
    assert!(ran.stderr.contains("1 s"), "the limit is named: {ran:#?}");
    assert_eq!(sandbox.exec(&["pgrep", "-f", "sleep 100[12]"]).status, Some(1));
}

#[test]
fn what_runs_in_the_background_outlives_its_command() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    sandbox.sh("nohup sleep 1003 >/dev/null 2>&1 &");
    sandbox.sh("pgrep -f 'sleep 1003'");
}

#[test]
fn commands_run_side_by_side() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    // The first waits for the second.
    std::thread::scope(|scope| {
        scope.spawn(|| sandbox.sh("mkfifo fifo; cat fifo"));
        scope.spawn(|| sandbox.sh("until [ -p fifo ]; do sleep 0.05; done; echo hello > fifo"));
    });
}

#[test]
fn orphans_are_collected() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    sandbox.sh("for i in 1 2 3; do sh -c '(sleep 0.1 &) '; done");
    abx_test::wait_until("no zombies", || {
        sandbox.sh("ps -eo stat=").lines().all(|state| !state.starts_with('Z')).then_some(())
    });
}

#[test]
fn under_json_the_output_is_in_the_value() {
    let Some(abx) = shared() else { return };
    let sandbox = abx.create(&["base", "--network", "none"]);
    let ran = abx.run(&["exec", "--json", &sandbox.id, "--", "sh", "-c", "echo out; echo err >&2; exit 4"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(4), ""), "{ran:#?}");
    let value = ran.json();
    assert_eq!(value["exit_status"], 4);
    assert_eq!((&value["stdout"], &value["stderr"]), (&"out\n".into(), &"err\n".into()));
}
