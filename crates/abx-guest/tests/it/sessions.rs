//! Terminals and processes that outlive their callers, several at once.

use crate::common::{TestGuest, run};
use abx_client::{ClientError, Exit, ProcessEvent, ProcessRequest, ProcessStream, PtySize};
use bytes::Bytes;

/// A shell in a terminal that says nothing of its own accord.
fn terminal(cols: u32, rows: u32) -> ProcessRequest {
    ProcessRequest {
        argv: vec!["/bin/sh".into()],
        env: [("PS1".to_owned(), String::new())].into(),
        pty: Some(PtySize { cols, rows }),
        ..ProcessRequest::default()
    }
}

/// Types a line. What the terminal shows must hold `wanted`, which the line itself must not.
async fn ask(stream: &mut ProcessStream, line: &str, wanted: &str) {
    assert!(!line.contains(wanted));
    stream.send_stdin(Bytes::from(format!("{line}\n"))).await.expect("typed");
    let mut seen = String::new();
    while !seen.contains(wanted) {
        match stream.next().await.expect("events") {
            Some(ProcessEvent::Pty(bytes)) => seen.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("{other:?} before {wanted:?}; seen {seen:?}"),
        }
    }
}

async fn end(stream: &mut ProcessStream) -> Exit {
    loop {
        match stream.next().await.expect("events") {
            Some(ProcessEvent::End(exit)) => return exit,
            Some(_) => {}
            None => panic!("the stream ends without an end"),
        }
    }
}

#[test]
fn many_terminals_are_many_sessions() {
    let guest = TestGuest::start();
    run(async {
        let mut terminals = Vec::new();
        for number in 0..8 {
            let stream = guest.client.start(terminal(80 + number, 24 + number)).await.expect("start");
            terminals.push(stream);
        }
        // Each keeps what is its own: the size, a variable, the name of its device.
        for (number, stream) in terminals.iter_mut().enumerate() {
            ask(stream, "stty size", &format!("{} {}", 24 + number, 80 + number)).await;
            ask(stream, &format!("own={number}; echo kept-$own-"), &format!("kept-{number}-")).await;
        }
        terminals[3].resize(PtySize { cols: 132, rows: 50 }).await.expect("resize");
        ask(&mut terminals[3], "stty size", "50 132").await;
        ask(&mut terminals[4], "stty size; echo still-$own-", "still-4-").await;
        let listed = guest.client.processes().await.expect("list");
        assert_eq!(listed.len(), 8);
        // The end of one is not another's.
        terminals[0].send_stdin(Bytes::from_static(b"exit 5\n")).await.expect("typed");
        assert_eq!(end(&mut terminals[0]).await, Exit::Code(5));
        ask(&mut terminals[7], "echo last-$own-", "last-7-").await;
    });
}

#[test]
fn a_terminal_goes_on_without_its_client_and_is_found_by_its_tag() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest { tag: Some("work".into()), ..terminal(100, 40) };
        let mut stream = guest.client.start(request).await.expect("start");
        let pid = stream.pid();
        ask(&mut stream, "kept=before; echo ready-$kept", "ready-before").await;
        // The client goes away in the middle of a flood that nobody reads then.
        stream
            .send_stdin(Bytes::from_static(b"yes flood | head -n 100000; kept=after\n"))
            .await
            .expect("typed");
        drop(stream);

        let mut again = guest.client.connect_tag("work", true).await.expect("by its tag");
        assert_eq!(again.pid(), pid);
        ask(&mut again, "echo again-$kept", "again-after").await;
        ask(&mut again, "stty size", "40 100").await;
        // Two hold it at once: both see what either types.
        let mut beside = guest.client.connect(pid, true).await.expect("by its number");
        again.send_stdin(Bytes::from_static(b"echo for-$kept-both\n")).await.expect("typed");
        let mut seen = String::new();
        while !seen.contains("for-after-both") {
            match beside.next().await.expect("events") {
                Some(ProcessEvent::Pty(bytes)) => seen.push_str(&String::from_utf8_lossy(&bytes)),
                other => panic!("{other:?}; seen {seen:?}"),
            }
        }
        again.signal(9).await.expect("kill");
        assert_eq!(end(&mut again).await, Exit::Signal { number: 9, core_dumped: false });
        assert_eq!(end(&mut beside).await, Exit::Signal { number: 9, core_dumped: false });
    });
}

#[test]
fn what_runs_in_the_background_is_listed_attached_to_and_killed() {
    let guest = TestGuest::start();
    run(async {
        let request = ProcessRequest {
            argv: ["/bin/sh", "-c", "read go; echo went $go; sleep 1000"].map(str::to_owned).to_vec(),
            env: [("ONE".to_owned(), "1".to_owned())].into(),
            cwd: Some("/".into()),
            stdin: true,
            tag: Some("background".into()),
            ..ProcessRequest::default()
        };
        let argv = request.argv.clone();
        let started = guest.client.start(request).await.expect("start");
        let pid = started.pid();
        drop(started);

        let listed = guest.client.processes().await.expect("list");
        let [process] = &listed[..] else { panic!("{listed:?}") };
        assert_eq!((process.pid, process.tag.as_deref()), (pid, Some("background")));
        let config = process.config.as_ref().expect("what it is");
        assert_eq!(
            ([std::slice::from_ref(&config.cmd), &config.args[..]].concat(), config.cwd.as_deref()),
            (argv, Some("/"))
        );
        assert_eq!(config.envs["ONE"], "1");

        let mut attached = guest.client.connect(pid, false).await.expect("attach");
        attached.send_stdin(Bytes::from_static(b"there\n")).await.expect("input");
        let event = attached.next().await.expect("events");
        assert_eq!(event, Some(ProcessEvent::Stdout(Bytes::from_static(b"went there\n"))));
        guest.client.signal(pid, 15).await.expect("signal");
        assert_eq!(end(&mut attached).await, Exit::Signal { number: 15, core_dumped: false });

        assert_eq!(guest.client.processes().await.expect("list"), []);
        let mut late = guest.client.connect_tag("background", false).await.expect("it ended lately");
        assert_eq!(end(&mut late).await, Exit::Signal { number: 15, core_dumped: false });
        let error = guest.client.signal(pid, 15).await.expect_err("it is gone");
        assert!(matches!(error, ClientError::Refused { status: 404, .. }), "{error:?}");
    });
}
