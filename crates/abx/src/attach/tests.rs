use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::mpsc;

use super::output::Writer;
use super::*;
use crate::terminal::Size;

/// A process that echoes its input until the end of it, or until a signal.
struct Echo {
    events: mpsc::UnboundedSender<Event>,
    log: Mutex<Vec<String>>,
}

impl Control for Echo {
    async fn send_input(&self, bytes: Vec<u8>) -> Result<(), Failure> {
        let _ = self.events.send(Event::Output(Stream::Stdout, bytes));
        Ok(())
    }
    async fn close_input(&self) -> Result<(), Failure> {
        let _ = self.events.send(Event::Output(Stream::Stderr, b"bye".to_vec()));
        let _ = self.events.send(Event::Ended(ExitOutcome::Exited(3)));
        Ok(())
    }
    async fn resize(&self, size: Size) -> Result<(), Failure> {
        self.log.lock().expect("log").push(format!("{size:?}"));
        Ok(())
    }
    async fn signal(&self, number: u8) -> Result<(), Failure> {
        self.log.lock().expect("log").push(format!("signal {number}"));
        let _ = self.events.send(Event::Ended(ExitOutcome::Signalled(number)));
        Ok(())
    }
}

impl Events for mpsc::UnboundedReceiver<Event> {
    async fn next(&mut self) -> Result<Event, Failure> {
        Ok(self.recv().await.expect("an event"))
    }
}

fn echo() -> (Echo, mpsc::UnboundedReceiver<Event>) {
    let (events, receiver) = mpsc::unbounded_channel();
    (Echo { events, log: Mutex::default() }, receiver)
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
        let (control, events) = echo();
        let mut output = Output::Pass(Writer::start(received_end, err_end).expect("writer"));
        let input = Some(Input::start(source).expect("input"));
        let mut signals = Signals::listen(false).expect("signals");
        join(events, &control, input, &mut signals, &mut output).await.expect("outcome")
    });
    writer.join().expect("writer");
    assert_eq!(outcome, ExitOutcome::Exited(3));
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
        let (control, events) = echo();
        for _ in 0..100 {
            control.send_input(b"more\n".to_vec()).await.expect("sent");
        }
        let mut output = Output::Pass(Writer::start(received_end, err_end).expect("writer"));
        let mut signals = Signals::listen(false).expect("signals");
        let result = join(events, &control, None, &mut signals, &mut output).await;
        let Err(Failure::Output(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert_eq!(*control.log.lock().expect("log"), ["signal 15"]);
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
        let (control, events) = echo();
        control.send_input(b"out".to_vec()).await.expect("sent");
        control.close_input().await.expect("closed");
        let mut output = Output::capture();
        let mut signals = Signals::listen(false).expect("signals");
        join(events, &control, None, &mut signals, &mut output).await.expect("outcome");
        let Output::Capture(captured) = output else { panic!("not captured") };
        assert_eq!((captured.stdout.as_slice(), captured.stderr.as_slice()), (&b"out"[..], &b"bye"[..]));
    });
}

#[test]
fn statuses_are_those_of_a_shell() {
    for (outcome, status) in [
        (ExitOutcome::Exited(0), 0),
        (ExitOutcome::Exited(127), 127),
        (ExitOutcome::Signalled(9), 137),
        (ExitOutcome::Left(2), 130),
        (ExitOutcome::Signalled(200), 255),
    ] {
        assert_eq!(outcome.status(), status);
    }
}
