use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::mpsc;

use abx_client::Exit;
use bytes::Bytes;

use super::output::Writer;
use super::*;
use crate::terminal::Size;

type Pipe = mpsc::UnboundedSender<ProcessEvent>;

/// Echoes input to stdout; at its end says `bye` on stderr and ends with 3.
struct EchoInput(Pipe);

impl Sink for EchoInput {
    async fn send(&mut self, bytes: Bytes) -> Result<(), ClientError> {
        self.0.send(ProcessEvent::Stdout(bytes)).expect("read");
        Ok(())
    }
    async fn close(self) -> Result<(), ClientError> {
        self.0.send(ProcessEvent::Stderr(Bytes::from_static(b"bye"))).expect("read");
        self.0.send(ProcessEvent::End(Exit::Code(3))).expect("read");
        Ok(())
    }
}

/// Ends at the first signal, and remembers it.
#[derive(Default)]
struct Recorder(Mutex<Vec<u8>>);

impl Control for Recorder {
    async fn resize(&self, _: Size) -> Result<(), ClientError> {
        Ok(())
    }
    async fn signal(&self, number: u8) -> Result<(), ClientError> {
        self.0.lock().expect("log").push(number);
        Ok(())
    }
}

impl Events for mpsc::UnboundedReceiver<ProcessEvent> {
    async fn next(&mut self) -> Result<Option<ProcessEvent>, ClientError> {
        Ok(self.recv().await)
    }
}

fn pipe() -> (File, OwnedFd) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).expect("pipe");
    (reader.into(), writer)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime").block_on(future)
}

#[test]
fn bytes_pass_both_ways_whole_and_in_order() {
    let sent: Vec<u8> = (0..3_000_000_u32).map(|byte| byte as u8).collect();
    let ((source, source_end), (mut received, received_end), (mut err, err_end)) = (pipe(), pipe(), pipe());
    let expected = sent.clone();
    let writer = std::thread::spawn(move || File::from(source_end).write_all(&sent).expect("write"));
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        received.read_to_end(&mut bytes).expect("read");
        bytes
    });
    let outcome = run(async {
        let (pipe, events) = mpsc::unbounded_channel();
        let mut output = Output::Pass(Writer::start(received_end, err_end).expect("writer"));
        let input = Some((Input::start(source).expect("input"), EchoInput(pipe)));
        let signals = Signals::listen(false).expect("signals");
        join(events, input, &Recorder::default(), signals, &mut output).await.expect("outcome")
    });
    writer.join().expect("writer");
    assert_eq!(outcome, ExitOutcome::Ended(Exit::Code(3)));
    assert!(reader.join().expect("reader") == expected, "bytes differ");
    let mut text = String::new();
    err.read_to_string(&mut text).expect("stderr");
    assert_eq!(text, "bye");
}

#[test]
fn a_reader_that_leaves_ends_the_process() {
    let ((received, received_end), (_err, err_end)) = (pipe(), pipe());
    drop(received);
    run(async {
        let (pipe, events) = mpsc::unbounded_channel();
        let control = Recorder::default();
        for _ in 0..100 {
            pipe.send(ProcessEvent::Stdout(Bytes::from_static(b"more\n"))).expect("sent");
        }
        let mut output = Output::Pass(Writer::start(received_end, err_end).expect("writer"));
        let signals = Signals::listen(false).expect("signals");
        let result = join(events, None::<(Input, EchoInput)>, &control, signals, &mut output).await;
        let Err(Failure::Output(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(*control.0.lock().expect("log"), [15]);
    });
}

#[test]
fn input_that_is_dropped_takes_no_further_byte() {
    let (source, mut end) = {
        let (source, end) = pipe();
        (source, File::from(end))
    };
    run(async {
        let mut input = Input::start(&source).expect("input");
        end.write_all(b"first").expect("write");
        assert_eq!(input.next().await.as_deref(), Some(&b"first"[..]));
    });
    let mut source = source;
    end.write_all(b"later").expect("write");
    drop(end);
    let mut rest = String::new();
    source.read_to_string(&mut rest).expect("read");
    assert_eq!(rest, "later");
}

#[test]
fn captured_output_is_kept_apart() {
    run(async {
        let (pipe, events) = mpsc::unbounded_channel();
        EchoInput(pipe.clone()).send(Bytes::from_static(b"out")).await.expect("sent");
        EchoInput(pipe).close().await.expect("closed");
        let mut output = Output::capture();
        let signals = Signals::listen(false).expect("signals");
        let input = None::<(Input, EchoInput)>;
        join(events, input, &Recorder::default(), signals, &mut output).await.expect("outcome");
        let Output::Capture(captured) = output else { panic!("not captured") };
        assert_eq!((captured.stdout.as_slice(), captured.stderr.as_slice()), (&b"out"[..], &b"bye"[..]));
    });
}

#[test]
fn events_that_stop_before_the_end_mean_the_sandbox_is_gone() {
    run(async {
        let (pipe, events) = mpsc::unbounded_channel();
        drop(pipe);
        let signals = Signals::listen(false).expect("signals");
        let input = None::<(Input, EchoInput)>;
        let result = join(events, input, &Recorder::default(), signals, &mut Output::capture()).await;
        let Err(Failure::Fault(fault)) = result else { panic!("{result:?}") };
        assert_eq!(fault.code(), abx_core::Code::Unreachable);
    });
}
