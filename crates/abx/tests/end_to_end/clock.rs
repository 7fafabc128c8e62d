//! The time a sandbox has, set and wound up by whoever holds it: what a server asks of the library.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use abx_test::{TestContext, wait_until};
use agent_sandbox::core::Home;
use agent_sandbox::sandbox::{Info, Status};
use agent_sandbox::{Context, CreateRequest, Sandbox};

use super::{PROGRAM, shared};

/// The library with the state and the program of the test.
fn library(abx: &TestContext) -> Context {
    let mut context = Context::from_env().expect("a home");
    context.home = Home::new(abx.state());
    context.exe = PathBuf::from(PROGRAM.path);
    context
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs()
}

/// Whether it has about so many seconds left.
#[track_caller]
fn assert_left(info: &Info, seconds: u64) {
    let left = info.ends.expect("an end") as i64 - now() as i64;
    assert!((seconds as i64 - 20..=seconds as i64 + 1).contains(&left), "{left} of {seconds} s");
}

fn create(abx: &TestContext, context: &Context, request: CreateRequest) -> Sandbox {
    let request = CreateRequest { reference: "base".into(), network: Some(false), ..request };
    let silent = agent_sandbox::core::progress::Silent;
    let runtime = runtime();
    let sandbox = runtime.block_on(agent_sandbox::create(context, &request, &silent)).expect("created");
    assert_eq!(abx.run(&["info", sandbox.id(), "--json"]).status, Some(0));
    sandbox
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn a_timeout_is_set_extended_and_stands_still() {
    let Some(abx) = shared() else { return };
    let context = library(&abx);
    let sandbox = create(&abx, &context, CreateRequest { timeout: Some(600), ..CreateRequest::default() });
    let _ends = abx.adopt(sandbox.id());
    runtime().block_on(async {
        assert_left(&sandbox.info(), 600);
        assert_left(&sandbox.set_timeout(Some(100)).await.expect("shorter"), 100);
        assert_left(&sandbox.extend(50).await.expect("never shorter"), 100);
        assert_left(&sandbox.extend(1000).await.expect("longer"), 1000);
        assert_eq!(sandbox.set_timeout(None).await.expect("for ever").ends, None);
        assert_eq!(sandbox.extend(5).await.expect("longer than for ever").ends, None);
        sandbox.pause().await.expect("paused");
        sandbox.pause().await.expect("twice");
        let paused = agent_sandbox::find(&context, sandbox.id()).expect("there").info();
        assert_eq!((paused.status, paused.ends), (Status::Paused, None));
        sandbox.set_timeout(Some(300)).await.expect("for later");
        assert_left(&sandbox.resume().await.expect("resumed").info(), 300);
        sandbox.pause().await.expect("paused");
        assert_left(&sandbox.resume_for(Some(70)).await.expect("resumed").info(), 70);
        assert_left(&sandbox.resume_for(Some(9)).await.expect("runs already").info(), 70);
        sandbox.set_timeout(Some(0)).await.expect("now");
    });
    let ended = wait_until("its end", || {
        let info = agent_sandbox::sandbox::info(&context, sandbox.id()).ok()?;
        (info.status == Status::Ended).then_some(info)
    });
    assert_eq!(ended.reason.map(|reason| reason.as_str()), Some("timeout"));
}

#[test]
fn time_that_is_up_pauses_where_that_is_wanted() {
    let Some(abx) = shared() else { return };
    let context = library(&abx);
    let request = CreateRequest { timeout: Some(1), pause_on_timeout: true, ..CreateRequest::default() };
    let sandbox = create(&abx, &context, request);
    let live = abx.adopt(sandbox.id());
    wait_until("paused", || (live.info()["status"] == "paused").then_some(()));
    let resumed = runtime().block_on(sandbox.resume_for(Some(500))).expect("resumed");
    assert_left(&resumed.info(), 500);
    assert_eq!(live.sh("echo here"), "here\n");
}

#[test]
fn one_that_is_stopped_on_purpose_keeps_its_files_whatever_its_mode() {
    let Some(abx) = shared() else { return };
    let context = library(&abx);
    let env = vec![("K".to_owned(), "V".to_owned())];
    let sandbox = create(&abx, &context, CreateRequest { env, ..CreateRequest::default() });
    let live = abx.adopt(sandbox.id());
    live.sh("echo mine > ~/file");
    live.sh("nohup sleep 1017 >/dev/null 2>&1 &");
    runtime().block_on(sandbox.stop()).expect("stopped");
    assert_eq!((&live.info()["status"], &live.info()["reason"]), (&"stopped".into(), &"stopped".into()));
    assert_eq!(live.sh("cat ~/file; echo $K; pgrep -x sleep || echo none"), "mine\nV\nnone\n");
    runtime().block_on(sandbox.kill()).expect("killed");
    assert_eq!(live.info()["reason"], "killed");
}
