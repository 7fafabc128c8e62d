//! The code service: who may have it, and that it is there whenever somebody asks.

use std::path::PathBuf;

use abx_client::ClientError;
use abx_client::code::{Event, ExecuteRequest};

use crate::common::{TestGuest, run};

/// A daemon whose code service has a port of its own, and whose contexts are in a home of their own.
fn guest() -> TestGuest {
    TestGuest::with(|config| {
        config.capabilities = vec!["shell".into(), "code".into()];
        config.code_port = Some(0);
        config.env.push(("HOME".into(), config.workdir.clone()));
        // Kernels of this machine are not for tests to find, but its Python is.
        config.env.push(("PATH".into(), std::env::var("PATH").expect("PATH")));
        config.env.push(("JUPYTER_PATH".into(), config.workdir.clone()));
    })
}

fn value(guest: &TestGuest, code: &str) -> Option<String> {
    run(async {
        let request = ExecuteRequest { code: code.into(), ..ExecuteRequest::default() };
        let mut events = guest.client.execute(&request).await.expect("it runs");
        let mut value = None;
        while let Some(event) = events.next().await.expect("an event") {
            match event {
                Event::Result(result) if result.is_main_result => value = result.text,
                Event::Error(error) => panic!("{code}: {error:?}"),
                _ => {}
            }
        }
        value
    })
}

/// The processes that serve code for this daemon.
fn servers(guest: &TestGuest) -> Vec<rustix::process::Pid> {
    let children = PathBuf::from(format!("/proc/{pid}/task/{pid}/children", pid = guest.pid()));
    let text = std::fs::read_to_string(children).expect("children");
    text.split_ascii_whitespace()
        .filter(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "abx-code\n")
        })
        .filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?))
        .collect()
}

#[test]
fn a_sandbox_without_the_capability_has_no_code_service() {
    let guest = TestGuest::with(|config| config.capabilities = vec!["shell".into()]);
    let error = run(guest.client.contexts()).expect_err("refused");
    let ClientError::Refused { status: 403, message, .. } = error else { panic!("{error:?}") };
    assert_eq!(message, "the capability `code` is not granted to this sandbox");
}

#[test]
fn it_costs_no_process_until_somebody_asks_and_remembers_from_then_on() {
    let guest = guest();
    assert!(servers(&guest).is_empty());
    assert_eq!(value(&guest, "x = 6"), None);
    assert_eq!(value(&guest, "x * 7").as_deref(), Some("42"));
    assert_eq!(servers(&guest).len(), 1);
    assert_eq!(value(&guest, "import os; os.getenv('FROM_TEMPLATE')").as_deref(), Some("yes"));
}

#[test]
fn one_that_is_killed_is_replaced_and_its_kernels_end_with_it() {
    let guest = guest();
    let kernel = value(&guest, "import os; os.getpid()").expect("a pid");
    let [server] = servers(&guest)[..] else { panic!("one server") };
    rustix::process::kill_process(server, rustix::process::Signal::KILL).expect("kill");
    assert_eq!(value(&guest, "1").as_deref(), Some("1"), "the next call is served");
    let state = || std::fs::read_to_string(format!("/proc/{kernel}/stat")).unwrap_or_default();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !(state().is_empty() || state().contains(") Z ")) {
        assert!(std::time::Instant::now() < deadline, "the kernel lives: {}", state());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn refusals_come_as_they_are_said() {
    let guest = guest();
    let error = run(guest.client.restart_context("none")).expect_err("there is none");
    let ClientError::Refused { status: 404, message, .. } = error else { panic!("{error:?}") };
    assert_eq!(message, "Context none not found");
}
