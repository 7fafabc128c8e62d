//! Our own service: what the host asks.

use std::io::{Read, Write};
use std::time::Duration;

use abx_client::{ProcessRequest, StartupState};
use abx_protocol::boot::{LogLine, StartupCommand};
use abx_protocol::{BootConfig, GENERATION};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::common::{TestGuest, run};

fn with_startup(command: &str) -> TestGuest {
    TestGuest::with(|config: &mut BootConfig| {
        config.startup_command = Some(StartupCommand { command: command.to_owned() });
    })
}

async fn ended(guest: &TestGuest) -> abx_client::Startup {
    for _ in 0..500 {
        let startup = guest.client.startup().await.expect("startup");
        if startup.state == StartupState::Exited {
            return startup;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the startup command does not end");
}

#[test]
fn a_startup_command_is_run_logged_and_remembered() {
    let guest = with_startup("pwd; echo \"$FROM_TEMPLATE\" >&2; printf unfinished; exit 4");
    run(async {
        let startup = ended(&guest).await;
        assert_eq!(startup.exit_code, Some(4));
        assert!(startup.failed());
        for text in [&guest.path("work"), "yes", "unfinished"] {
            assert!(startup.tail.contains(text), "{text} in {}", startup.tail);
        }
    });
    let log = std::fs::read_to_string(guest.log()).expect("log");
    let mut lines: Vec<LogLine> =
        log.lines().map(|line| serde_json::from_str(line).expect("a log line")).collect();
    assert!(lines.iter().all(|line| line.time.len() == "2026-01-01T00:00:00.000Z".len()), "{log}");
    let last = lines.pop().expect("a last line");
    assert_eq!((last.stream.as_str(), last.line.as_str()), ("abx", "startup command ended: exit status 4"));
    let mut seen: Vec<_> = lines.iter().map(|line| (line.stream.as_str(), line.line.as_str())).collect();
    seen.sort_unstable();
    assert_eq!(seen, [("stderr", "yes"), ("stdout", &guest.path("work")), ("stdout", "unfinished")]);
}

#[test]
fn a_startup_command_that_runs_is_found_by_its_tag_and_is_no_sign_of_use() {
    let guest = with_startup("while :; do echo tick; sleep 0.05; done");
    run(async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let startup = guest.client.startup().await.expect("startup");
        assert_eq!((startup.state, startup.failed()), (StartupState::Running, false));
        let activity = guest.client.activity().await.expect("activity");
        assert_eq!((activity.active_calls, activity.processes), (0, 0));
        assert!(activity.idle_seconds > 0.2, "{activity:?}");
        let processes = guest.client.processes().await.expect("list");
        assert_eq!(processes[0].tag.as_deref(), Some("startup"));
        assert_eq!(Some(processes[0].pid), startup.pid);
        guest.client.signal(processes[0].pid, 9).await.expect("kill");
        assert_eq!(ended(&guest).await.exit_code, Some(137));
    });
}

#[test]
fn one_that_ends_well_or_does_not_exist_has_not_failed() {
    run(async {
        assert!(!ended(&with_startup("true")).await.failed());
        let startup = TestGuest::start().client.startup().await.expect("startup");
        assert_eq!((startup.state, startup.failed()), (StartupState::None, false));
    });
}

#[test]
fn a_startup_command_without_its_shell_says_so() {
    let guest = TestGuest::with(|config| {
        config.shell = "/no/such/shell".to_owned();
        config.startup_command = Some(StartupCommand { command: "true".to_owned() });
    });
    run(async {
        let startup = ended(&guest).await;
        assert_eq!(startup.exit_code, Some(127));
        assert!(startup.tail.contains("/no/such/shell"), "{}", startup.tail);
    });
}

#[test]
fn probes_answer_and_are_cut_at_their_limit() {
    let guest = TestGuest::start();
    run(async {
        let long = Duration::from_secs(20);
        let seen = guest.client.exec_probe("echo out; echo err >&2; exit 9", None, long).await.expect("ran");
        assert_eq!((seen.exit_code, seen.timed_out), (9, false));
        assert!(seen.output.contains("out\n") && seen.output.contains("err\n"), "{seen:?}");
        let script = "sleep 71 & echo $!; wait";
        let seen = guest.client.exec_probe(script, None, Duration::from_millis(300)).await.expect("ran");
        assert_eq!((seen.exit_code, seen.timed_out), (137, true));
        let child = seen.output.trim().to_owned();
        let path = format!("/proc/{child}/stat");
        let gone = || std::fs::read_to_string(&path).map_or(true, |stat| stat.contains(") Z "));
        for _ in 0..250 {
            if gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{child} is left");
    });
}

#[test]
fn activity_counts_streams_and_ignores_its_own_kind() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest { argv: vec!["sleep".into(), "60".into()], ..ProcessRequest::default() };
        let stream = guest.client.start(request).await.expect("start");
        let busy = guest.client.activity().await.expect("activity");
        assert_eq!((busy.active_calls, busy.open_streams, busy.processes), (1, 1, 1));
        assert!(busy.idle_seconds == 0.0, "{busy:?}");
        stream.signal(9).await.expect("kill");
        drop(stream);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let idle = guest.client.activity().await.expect("activity");
        assert_eq!((idle.active_calls, idle.open_streams, idle.processes), (0, 0, 0));
        assert!(idle.idle_seconds > 0.0);
    });
}

#[test]
fn the_daemon_says_what_it_is() {
    let guest = TestGuest::with(|config| config.capabilities = vec!["shell".into()]);
    run(async {
        let info = guest.client.info().await.expect("info");
        assert_eq!(info.generation, GENERATION);
        assert_eq!(info.sandbox_id, "test0");
        assert_eq!(info.capabilities, ["shell"]);
        assert_eq!(info.workdir, guest.path("work"));
    });
}

#[test]
fn a_tunnel_carries_the_bytes_of_a_port_inside() {
    let guest = TestGuest::start();
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = server.local_addr().expect("address").port();
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("accept");
        let mut said = [0; 5];
        stream.read_exact(&mut said).expect("hear");
        stream.write_all(&said).expect("answer");
    });
    run(async {
        let mut tunnel = guest.client.tunnel(port).await.expect("tunnel");
        tunnel.write_all(b"hello").await.expect("say");
        let activity = guest.client.activity().await.expect("activity");
        assert_eq!((activity.open_streams, activity.idle_seconds), (1, 0.0));
        let mut heard = Vec::new();
        tunnel.read_to_end(&mut heard).await.expect("hear");
        assert_eq!(heard, b"hello");
    });
    echo.join().expect("echo");
    run(async {
        let error = guest.client.tunnel(port).await.expect_err("nobody listens any more");
        assert_eq!(error.to_string(), format!("nobody listens on port {port} in the sandbox"));
    });
    let answer = guest.http("GET", "/abx/v1/tunnel?port=0", &[("Upgrade", "abx-tunnel")], b"");
    assert_eq!(answer.status, 400);
}
