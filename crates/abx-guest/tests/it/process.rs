//! Processes, driven as the host drives them.

use std::time::Duration;

use crate::common::{TestGuest, run};
use abx_client::{ClientError, Exit, ProcessEvent, ProcessRequest, ProcessStream, PtySize};
use bytes::Bytes;

fn shell(script: &str) -> ProcessRequest {
    ProcessRequest { argv: vec!["/bin/sh".into(), "-c".into(), script.into()], ..ProcessRequest::default() }
}

#[derive(Debug, Default)]
struct Outcome {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    pty: Vec<u8>,
    exit: Option<Exit>,
}

impl Outcome {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

async fn finish(stream: &mut ProcessStream) -> Result<Outcome, ClientError> {
    let mut outcome = Outcome::default();
    while let Some(event) = stream.next().await? {
        assert_eq!(outcome.exit, None, "nothing follows the end");
        match event {
            ProcessEvent::Stdout(bytes) => outcome.stdout.extend_from_slice(&bytes),
            ProcessEvent::Stderr(bytes) => outcome.stderr.extend_from_slice(&bytes),
            ProcessEvent::Pty(bytes) => outcome.pty.extend_from_slice(&bytes),
            ProcessEvent::End(exit) => outcome.exit = Some(exit),
        }
    }
    Ok(outcome)
}

async fn outcome(guest: &TestGuest, request: ProcessRequest) -> Outcome {
    let mut stream = guest.client.start(request).await.expect("it starts");
    finish(&mut stream).await.expect("it ends")
}

/// Reads until the wanted text was seen.
async fn read_until(stream: &mut ProcessStream, wanted: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(wanted) {
        match stream.next().await.expect("events") {
            Some(ProcessEvent::Stdout(bytes) | ProcessEvent::Pty(bytes)) => {
                seen.push_str(&String::from_utf8_lossy(&bytes));
            }
            other => panic!("{other:?} before {wanted:?}; seen {seen:?}"),
        }
    }
    seen
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come true");
}

#[test]
fn streams_are_kept_apart_and_the_status_is_told() {
    let guest = TestGuest::start();
    run(async {
        let seen = outcome(&guest, shell("echo out; echo err >&2; exit 3")).await;
        assert_eq!((&seen.stdout[..], &seen.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(seen.exit, Some(Exit::Code(3)));
    });
}

#[test]
fn ten_megabytes_of_noise_arrive_intact() {
    let guest = TestGuest::start();
    let mut noise = vec![0; 10 << 20];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in &mut noise {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state as u8;
    }
    let path = guest.path("noise");
    std::fs::write(&path, &noise).expect("write");
    run(async {
        let seen = outcome(&guest, shell(&format!("cat {path}; cat {path} >&2"))).await;
        assert!(seen.stdout == noise, "stdout differs");
        assert!(seen.stderr == noise, "stderr differs");
        assert_eq!(seen.exit, Some(Exit::Code(0)));
    });
}

#[test]
fn input_is_echoed_and_closed() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest { stdin: true, ..shell("cat; echo done") };
        let mut stream = guest.client.start(request).await.expect("start");
        stream.send_stdin(Bytes::from_static(b"one\n")).await.expect("send");
        read_until(&mut stream, "one\n").await;
        stream.send_stdin(Bytes::from_static(b"two")).await.expect("send");
        stream.close_stdin().await.expect("close");
        let seen = finish(&mut stream).await.expect("end");
        assert_eq!(seen.text(), "twodone\n");
    });
}

#[test]
fn much_input_flows_at_the_process_pace() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest { stdin: true, ..shell("sleep 0.2; wc -c") };
        let mut stream = guest.client.start(request).await.expect("start");
        let mut input = stream.input();
        let (sent, seen) = tokio::join!(
            async {
                for _ in 0..32 {
                    input.send(Bytes::from(vec![b'x'; 256 << 10])).await?;
                }
                input.close().await
            },
            finish(&mut stream)
        );
        sent.expect("sent");
        assert_eq!(seen.expect("end").text().trim(), (32 * (256 << 10)).to_string());
    });
}

#[test]
fn input_that_is_not_wanted_is_refused() {
    let guest = TestGuest::start();
    run(async {
        let mut stream = guest.client.start(shell("cat; sleep 60")).await.expect("start");
        let error = async {
            stream.send_stdin(Bytes::from_static(b"x")).await?;
            stream.close_stdin().await
        };
        let error = error.await.expect_err("refused");
        assert!(matches!(error, ClientError::Refused { status: 500, .. }), "{error:?}");
        stream.signal(9).await.expect("kill");
    });
}

#[test]
fn a_terminal_has_a_size_that_changes_and_controls_its_session() {
    let guest = TestGuest::start();
    run(async {
        let script = "stty size; trap 'stty size' WINCH; tty -s && echo tty; : </dev/tty && echo controlled; \
                      while :; do sleep 0.05; done";
        let request = ProcessRequest { pty: Some(PtySize { cols: 101, rows: 37 }), ..shell(script) };
        let mut stream = guest.client.start(request).await.expect("start");
        let seen = read_until(&mut stream, "controlled").await;
        assert!(seen.contains("37 101") && seen.contains("tty"), "{seen}");
        stream.resize(PtySize { cols: 55, rows: 22 }).await.expect("resize");
        read_until(&mut stream, "22 55").await;
        stream.send_stdin(Bytes::from_static(b"\x03")).await.expect("^C");
        let seen = finish(&mut stream).await.expect("end");
        assert_eq!(seen.exit.map(Exit::shell_status), Some(130));
    });
}

#[test]
fn a_terminal_without_a_wish_has_a_size_and_a_type() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest { pty: Some(PtySize::default()), ..shell("stty size; echo $TERM") };
        let seen = outcome(&guest, request).await;
        assert_eq!(String::from_utf8_lossy(&seen.pty), "24 80\r\nxterm-256color\r\n");
    });
}

#[test]
fn signals_end_a_process_and_are_named() {
    let guest = TestGuest::start();
    run(async {
        for (signal, status) in [(15, 143), (9, 137), (2, 130)] {
            let mut stream = guest.client.start(shell("echo up; exec sleep 60")).await.expect("start");
            read_until(&mut stream, "up").await;
            stream.signal(signal).await.expect("signal");
            let seen = finish(&mut stream).await.expect("end");
            assert_eq!(seen.exit, Some(Exit::Signal { number: signal, core_dumped: false }));
            assert_eq!(seen.exit.map(Exit::shell_status), Some(status));
            let error = guest.client.signal(stream.pid(), 9).await.expect_err("it is gone");
            assert!(matches!(error, ClientError::Refused { status: 404, .. }), "{error:?}");
        }
    });
}

#[test]
fn a_kill_returns_when_the_process_is_gone() {
    let guest = TestGuest::start();
    run(async {
        for _ in 0..20 {
            let stream = guest.client.start(shell("sleep 68")).await.expect("start");
            stream.signal(9).await.expect("kill");
            let error = stream.signal(9).await.expect_err("it is gone");
            assert!(matches!(error, ClientError::Refused { status: 404, .. }), "{error:?}");
        }
    });
}

#[test]
fn kill_ends_the_whole_tree() {
    let guest = TestGuest::start();
    run(async {
        let script = "sleep 61 & echo $!; setsid sleep 62 & echo $!; (setsid sh -c 'sleep 63 & echo $!; wait') & \
                      sleep 0.3; echo up; wait";
        let mut stream = guest.client.start(shell(script)).await.expect("start");
        let seen = read_until(&mut stream, "up").await;
        let pids: Vec<u32> = seen.lines().filter_map(|line| line.parse().ok()).collect();
        assert_eq!(pids.len(), 3, "{seen}");
        stream.signal(9).await.expect("kill");
        finish(&mut stream).await.expect("end");
        until("the tree's end", || pids.iter().all(|pid| !is_alive(*pid))).await;
    });
}

#[test]
fn a_background_process_neither_delays_the_end_nor_dies_of_it() {
    let guest = TestGuest::start();
    run(async {
        let script = "(while :; do echo noise || exit 1; sleep 0.01; done) & echo $!";
        let mut stream = guest.client.start(shell(script)).await.expect("start");
        let seen = finish(&mut stream).await.expect("it ends");
        let pid: u32 = seen.text().lines().next().and_then(|line| line.parse().ok()).expect("a number");
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert!(is_alive(pid), "its writes still succeed");
        let killed = outcome(&guest, shell(&format!("kill -9 {pid}"))).await;
        assert_eq!(killed.exit, Some(Exit::Code(0)));
    });
}

#[test]
fn a_disconnect_leaves_the_process_alone_and_a_late_listener_learns_the_end() {
    let guest = TestGuest::start();
    run(async {
        let mark = guest.path("mark");
        let script = format!("echo up; sleep 0.3; seq 100000; touch {mark}; sleep 0.2; exit 7");
        let mut stream = guest.client.start(shell(&script)).await.expect("start");
        read_until(&mut stream, "up").await;
        let pid = stream.pid();
        drop(stream);
        until("the mark", || std::fs::exists(&mark).unwrap_or(false)).await;
        let mut again = guest.client.connect(pid, false).await.expect("connect");
        assert_eq!(finish(&mut again).await.expect("end").exit, Some(Exit::Code(7)));
        let mut late = guest.client.connect(pid, false).await.expect("connect late");
        assert_eq!(finish(&mut late).await.expect("end").exit, Some(Exit::Code(7)));
        assert!(guest.client.connect(1, false).await.is_err());
    });
}

#[test]
fn a_listener_that_leaves_an_idle_process_is_noticed() {
    let guest = TestGuest::start();
    run(async {
        let stream = guest.client.start(shell("exec sleep 67")).await.expect("start");
        let pid = stream.pid();
        drop(stream);
        for _ in 0..250 {
            let activity = guest.client.activity().await.expect("activity");
            if activity.open_streams == 0 {
                assert_eq!(activity.processes, 1);
                return guest.client.signal(pid, 9).await.expect("kill");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the stream is still open");
    });
}

#[test]
fn two_listeners_see_the_same() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest { stdin: true, ..shell("read line; seq 100000") };
        let mut first = guest.client.start(request).await.expect("start");
        let mut second = guest.client.connect(first.pid(), false).await.expect("connect");
        first.send_stdin(Bytes::from_static(b"go\n")).await.expect("send");
        let (first, second) = tokio::join!(finish(&mut first), finish(&mut second));
        let (first, second) = (first.expect("end"), second.expect("end"));
        assert_eq!(first.stdout.len(), 588_895);
        assert!(first.stdout == second.stdout);
        assert_eq!(first.exit, second.exit);
    });
}

#[test]
fn a_process_has_its_own_environment_and_no_other() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest {
            argv: vec!["env".into()],
            env: [("MINE".to_owned(), "1".to_owned())].into(),
            ..ProcessRequest::default()
        };
        let first = outcome(&guest, request).await.text();
        let has = |text: &str, line: &str| text.lines().any(|seen| seen == line);
        for line in ["MINE=1", "FROM_TEMPLATE=yes", "E2B_SANDBOX=true", "E2B_SANDBOX_ID=test0"] {
            assert!(has(&first, line), "{line} in {first}");
        }
        assert!(!first.contains("ABX_"), "{first}");
        let plain = ProcessRequest { argv: vec!["env".into()], ..ProcessRequest::default() };
        let second = outcome(&guest, plain).await.text();
        assert!(!second.contains("MINE"), "{second}");
        for name in ["PATH=", "HOME=", "USER=", "LOGNAME=", "SHELL="] {
            assert!(second.lines().any(|line| line.starts_with(name)), "{name} in {second}");
        }
    });
}

#[test]
fn a_process_starts_in_the_workdir_with_clean_signals_and_descriptors() {
    let guest = TestGuest::start();
    run(async {
        let script = "pwd; grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd";
        let text = outcome(&guest, shell(script)).await.text();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(guest.path("work").as_str()));
        for line in lines.by_ref().take(2) {
            let mask = line.split_whitespace().nth(1).and_then(|mask| u64::from_str_radix(mask, 16).ok());
            // The C library keeps 32 and 33 to itself.
            assert_eq!(mask.map(|mask| mask & 0x7fff_ffff), Some(0), "{text}");
        }
        // 3 is the directory that ls reads.
        assert_eq!(lines.collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    });
}

#[test]
fn what_cannot_start_says_why() {
    let guest = TestGuest::start();
    let plain = guest.path("plain");
    std::fs::write(&plain, "no program").expect("write");
    run(async {
        let start = async |argv: &str, cwd: Option<&str>, user: Option<&str>| {
            let request = ProcessRequest {
                argv: vec![argv.to_owned()],
                cwd: cwd.map(str::to_owned),
                user: user.map(str::to_owned),
                ..ProcessRequest::default()
            };
            guest.client.start(request).await.expect_err("it cannot start")
        };
        assert_eq!(start("no-such-program", None, None).await.exit_status(), Some(127));
        assert_eq!(start("/no/such/program", None, None).await.exit_status(), Some(127));
        assert_eq!(start(&plain, None, None).await.exit_status(), Some(126));
        assert_eq!(start("/", None, None).await.exit_status(), Some(126));
        let error = start("true", Some("/no/such/dir"), None).await;
        assert!(error.to_string().contains("cwd '/no/such/dir' does not exist"), "{error}");
        assert_eq!(error.exit_status(), None);
        let error = start("true", None, Some("nobody-here")).await;
        assert!(matches!(&error, ClientError::Refused { status: 401, .. }), "{error:?}");
        assert!(error.to_string().contains("invalid username: 'nobody-here'"), "{error}");
    });
}

#[test]
fn another_user_is_that_user_with_its_groups() {
    if !rustix::process::getuid().is_root() {
        eprintln!("skipped: only root can start processes as others");
        return;
    }
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest {
            user: Some("daemon".into()),
            cwd: Some("/".into()),
            ..shell("id -un; id -g; echo $USER $HOME; cat /proc/self/status | grep CapEff")
        };
        let text = outcome(&guest, request).await.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["daemon", "1"], "{text}");
        assert_eq!(lines[2], "daemon /usr/sbin");
        assert!(lines[3].ends_with("0000000000000000"), "{text}");
    });
}

#[test]
fn a_call_past_its_time_kills_the_tree() {
    let guest = TestGuest::start();
    run(async {
        let request =
            ProcessRequest { timeout: Some(Duration::from_millis(300)), ..shell("sleep 64 & echo $!; wait") };
        let mut stream = guest.client.start(request).await.expect("start");
        let pid: u32 = read_until(&mut stream, "\n").await.trim().parse().expect("a number");
        let error = finish(&mut stream).await.expect_err("its time is up");
        assert!(matches!(error, ClientError::Timeout { .. }), "{error:?}");
        until("the tree's end", || !is_alive(pid)).await;
    });
}

#[test]
fn orphans_are_reaped() {
    let guest = TestGuest::start();
    run(async {
        outcome(&guest, shell("for i in 1 2 3; do (setsid sh -c 'sleep 0.1' &) ; done")).await;
        let children = || {
            let path = format!("/proc/{0}/task/{0}/children", guest.pid());
            std::fs::read_to_string(path).unwrap_or_default()
        };
        until("no children", || children().trim().is_empty()).await;
    });
}

#[test]
fn the_daemon_ignores_signals_and_ends_with_its_host() {
    let mut guest = TestGuest::start();
    let pid = rustix::process::Pid::from_raw(guest.pid().cast_signed()).expect("a number");
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::HUP]
    {
        rustix::process::kill_process(pid, signal).expect("kill");
    }
    run(async { guest.client.health().await.expect("alive") });
    assert!(guest.release().success());
}

#[test]
fn one_listener_too_slow_holds_the_process_back_instead_of_filling_memory() {
    let guest = TestGuest::start();
    run(async {
        let mut stream = guest.client.start(shell("head -c 200000000 /dev/zero")).await.expect("start");
        tokio::time::sleep(Duration::from_millis(500)).await;
        let status = std::fs::read_to_string(format!("/proc/{}/status", guest.pid())).expect("status");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse().expect("a number");
        assert!(kib < 40_000, "{kib} KiB");
        let seen = finish(&mut stream).await.expect("end");
        assert_eq!(seen.stdout.len(), 200_000_000);
    });
}
