//! Output without end: whoever asked reads as much as he likes, and the host keeps no more than it has room for.

use std::io::Read;
use std::process::Stdio;

use crate::cell::{cell, still_serves};
use crate::lab;

#[test]
fn a_reader_who_stops_ends_the_flood() {
    lab::run("floods::a_reader_who_stops_ends_the_flood", |abx| {
        let sandbox = cell(abx);
        let mut command = abx.command(&["exec", &sandbox.id, "--", "sh", "-c", "yes & yes >&2"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("abx");
        let mut piece = vec![0; 8 << 20];
        child.stdout.take().expect("piped").read_exact(&mut piece).expect("a flood");
        let taken = resident(child.id());
        // The other end is closed by now.
        child.wait().expect("it ends");
        assert!(taken < 96 << 20, "{} MiB for a flood", taken >> 20);
        still_serves(&sandbox);
    });
}

/// Nobody reads at all: the writer is held back, and neither the caller nor the monitor grows.
#[test]
fn a_reader_who_sleeps_holds_the_flood_back() {
    lab::run("floods::a_reader_who_sleeps_holds_the_flood_back", |abx| {
        let sandbox = cell(abx);
        let mut command = abx.command(&["exec", &sandbox.id, "--", "sh", "-c", "yes"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("abx");
        std::thread::sleep(std::time::Duration::from_secs(2));
        let taken = resident(child.id());
        let _ = child.kill();
        let _ = child.wait();
        assert!(taken < 96 << 20, "{} MiB for a flood that nobody reads", taken >> 20);
        let daemon = sandbox.root_sh("awk '/VmRSS/ { print $2 }' /proc/1/status");
        let daemon: u64 = daemon.trim().parse().expect("kilobytes");
        assert!(daemon < 32 << 10, "the daemon inside has {daemon} kB");
        still_serves(&sandbox);
    });
}

/// Under `--json` the output is one value, which must be held whole before it is printed.
#[test]
fn what_is_kept_of_a_flood_is_bounded() {
    lab::run("floods::what_is_kept_of_a_flood_is_bounded", |abx| {
        let sandbox = cell(abx);
        let ran =
            abx.run(&["--json", "exec", &sandbox.id, "--", "sh", "-c", "yes | head -c 60M; echo end >&2"]);
        let value = ran.json();
        assert_eq!((&value["truncated"], &value["stderr"]), (&true.into(), &"end\n".into()));
        assert_eq!(value["stdout"].as_str().map(str::len), Some(16 << 20));
        let ran = abx.run(&["--json", "exec", &sandbox.id, "--", "echo", "little"]);
        assert_eq!(ran.json().get("truncated"), None);
    });
}

#[test]
fn the_log_of_a_startup_command_is_bounded() {
    lab::run("floods::the_log_of_a_startup_command_is_bounded", |abx| {
        let template =
            abx.template("flood", "base:\n  from: base\nsandbox:\n  startup_command: \"yes flood\"\n");
        let sandbox = abx.create(&[&template, "--network", "none", "--memory", "192", "--timeout", "240"]);
        let log = abx.state().join("sandboxes").join(&sandbox.id);
        let size = || {
            let entries = log.read_dir().expect("entry").flatten();
            let logs = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("log"));
            logs.map(|entry| entry.metadata().map_or(0, |metadata| metadata.len())).sum::<u64>()
        };
        abx_test::wait_until("much is logged", || (size() > 8 << 20).then_some(()));
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(size() < 64 << 20, "{} MiB of log", size() >> 20);
        still_serves(&sandbox);
    });
}

/// Bytes of memory.
fn resident(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default() << 10
}
