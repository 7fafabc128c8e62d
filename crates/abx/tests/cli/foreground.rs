//! A command in the foreground: bytes, status, signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use crate::support::sandbox::Sandbox;
use crate::support::{Abx, Ran};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn output_and_status_are_the_commands_own() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let ran = abx.run(&["exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(ran, Ran { status: Some(7), stdout: "out\n".into(), stderr: "err\n".into() });
}

#[test]
fn a_command_ended_by_a_signal_has_128_and_its_number() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    for (signal, status) in [("TERM", 143), ("KILL", 137)] {
        let ran = abx.run(&["exec", "web", "--", "sh", "-c", &format!("kill -{signal} $$")]);
        assert_eq!(ran, Ran { status: Some(status), stdout: String::new(), stderr: String::new() });
    }
}

#[test]
fn what_cannot_be_run_is_127_or_126_and_says_why() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    for (program, status) in [("no-such-program", 127), ("/etc/passwd", 126), ("/tmp", 126)] {
        let ran = abx.run(&["exec", "web", "--", program]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(status), ""), "{program}: {ran:?}");
        assert!(ran.stderr.starts_with("error[E3000]: "), "{program}: {}", ran.stderr);
        let object = abx.run(&["exec", "--json", "web", "--", program]).error_object();
        assert_eq!(object["code"], "E3000");
    }
}

#[test]
fn options_reach_the_command() {
    let abx = Abx::new();
    let Some(web) = Sandbox::start(&abx) else { return };
    let command = ["--", "sh", "-c", "pwd; echo $A $FROM_TEMPLATE; cat"];
    let ran = abx.run(&[&["exec", &web.id[..8], "--cwd", "/", "--env", "A=b c"][..], &command].concat());
    assert_eq!(ran, Ran { status: Some(0), stdout: "/\nb c yes\n".into(), stderr: String::new() });
    let ran = abx.run(&["exec", "web", "--user", "no-such-user", "--", "true"]);
    assert_eq!(ran.status, Some(125), "{ran:?}");
    let ran = abx.run(&["exec", "web", "--cwd", "/no/such/folder", "--", "true"]);
    assert_eq!(ran.status, Some(125), "{ran:?}");
}

#[test]
fn standard_input_passes_with_i_alone_and_ends() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut child = spawn(abx.command(&["exec", "-i", "web", "--", "cat"]).stdin(Stdio::piped()));
    let mut stdin = child.stdin.take().expect("stdin");
    let expected = sent.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).expect("write"));
    let mut received = Vec::new();
    child.stdout.take().expect("stdout").read_to_end(&mut received).expect("read");
    writer.join().expect("writer");
    assert_eq!(child.wait().expect("wait").code(), Some(0));
    assert!(received == expected, "{} bytes of {}", received.len(), expected.len());
}

#[test]
fn an_interrupt_reaches_the_command_and_a_second_one_kills_it() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let polite = "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done";
    let ran = interrupt(&abx, polite, 1);
    assert_eq!(ran, Ran { status: Some(3), stdout: "caught\n".into(), stderr: String::new() });
    // A shell that sees its child killed before itself says so.
    let stubborn = "exec 2>/dev/null; trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done";
    let ran = interrupt(&abx, stubborn, 2);
    assert_eq!(ran, Ran { status: Some(137), stdout: "caught\n".into(), stderr: String::new() });
}

/// Sends so many interrupts to a command that says `ready` first, each once the one before has been answered.
fn interrupt(abx: &Abx, script: &str, times: usize) -> Ran {
    let mut child = spawn(&mut abx.command(&["exec", "web", "--", "sh", "-c", script]));
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
    let mut text = String::new();
    let mut answers = String::new();
    for _ in 0..times {
        text.clear();
        stdout.read_line(&mut text).expect("a line");
        answers.push_str(&text);
        signal(&child, Signal::INT);
    }
    stdout.read_to_string(&mut answers).expect("the rest");
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("stderr");
    let status = child.wait().expect("wait").code();
    Ran { status, stdout: answers.trim_start_matches("ready\n").to_owned(), stderr }
}

#[test]
fn a_reader_that_leaves_ends_the_command() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut child = spawn(&mut abx.command(&["exec", "web", "--", "sh", "-c", "echo $$; exec yes"]));
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
    let mut pid = String::new();
    stdout.read_line(&mut pid).expect("a line");
    drop(stdout);
    assert_eq!(child.wait().expect("wait").code(), Some(141));
    let pid: i32 = pid.trim().parse().expect("a pid");
    let pid = Pid::from_raw(pid).expect("a pid");
    while rustix::process::test_kill_process(pid).is_ok() {
        std::thread::yield_now();
    }
}

#[test]
fn a_command_whose_time_is_up_is_killed_and_told_apart() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let ran = abx.run(&["exec", "web", "--timeout", "1", "--", "sh", "-c", "echo begun; sleep 60"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(137), "begun\n"), "{ran:?}");
    assert!(ran.stderr.starts_with("error[E3001]: "), "{}", ran.stderr);
}

#[test]
fn json_is_one_value_whatever_the_command_prints() {
    let abx = Abx::new();
    let Some(web) = Sandbox::start(&abx) else { return };
    let ran = abx.run(&["exec", "web", "--json", "--", "sh", "-c", "printf 'a\\377'; echo b >&2; exit 4"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(4), ""));
    let value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("json");
    assert_eq!(
        value,
        serde_json::json!({
            "id": web.id, "exit_status": 4, "signal": null, "stdout": "a\u{fffd}", "stderr": "b\n",
        })
    );
}

#[test]
fn connect_reads_commands_where_there_is_no_terminal() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut child = spawn(abx.command(&["connect", "web"]).stdin(Stdio::piped()));
    child.stdin.take().expect("stdin").write_all(b"basename $PWD\nexit 5\n").expect("write");
    let ran = Ran::from(child.wait_with_output().expect("wait"));
    assert_eq!(ran, Ran { status: Some(5), stdout: "work\n".into(), stderr: String::new() });
}

fn spawn(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("abx runs")
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("signalled");
}
