//! Carries a process's output to its listeners until it has ended.

use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use abx_protocol::process::{DataEvent, EndEvent, Event, Output};
use abx_protocol::signal::Exit;
use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Process;
use crate::channel::{CHUNK, Channel};
use crate::guest::Guest;

/// How long output is awaited from what an ended process left behind with its pipe in hand.
const GRACE: Duration = Duration::from_millis(50);
/// No pipe or terminal here holds more: what was written before the end is within one capacity.
const CAPACITY: usize = 64 << 10;

/// A process's outputs, each until its last writer is gone.
pub(crate) struct Outputs {
    first: Option<Source>,
    second: Option<Source>,
}

struct Source {
    channel: Rc<Channel>,
    wrap: fn(Bytes) -> Output,
}

impl Outputs {
    pub(crate) fn pipes(stdout: Channel, stderr: Channel) -> Self {
        Self {
            first: Some(Source { channel: Rc::new(stdout), wrap: Output::Stdout }),
            second: Some(Source { channel: Rc::new(stderr), wrap: Output::Stderr }),
        }
    }

    pub(crate) fn terminal(terminal: Rc<Channel>) -> Self {
        Self { first: Some(Source { channel: terminal, wrap: Output::Pty }), second: None }
    }

    /// The next piece of any output; `None` once all have ended. May be dropped and called again without
    /// losing anything.
    pub(crate) async fn next(&mut self) -> Option<Output> {
        loop {
            if self.first.is_none() && self.second.is_none() {
                return None;
            }
            let (slot, piece) = tokio::select! {
                piece = read(self.first.as_ref()) => (&mut self.first, piece),
                piece = read(self.second.as_ref()) => (&mut self.second, piece),
            };
            match piece {
                Some(piece) => return Some(piece),
                None => *slot = None,
            }
        }
    }

    /// What is there right now.
    fn next_now(&self) -> Option<Output> {
        [&self.first, &self.second]
            .into_iter()
            .flatten()
            .find_map(|source| source.channel.read_now().map(source.wrap))
    }
}

async fn read(source: Option<&Source>) -> Option<Output> {
    match source {
        Some(source) => source.channel.read().await.map(source.wrap),
        None => pending().await,
    }
}

/// Runs until the process has ended and its output is delivered.
pub(super) async fn run(
    guest: Rc<Guest>,
    process: Rc<Process>,
    mut outputs: Outputs,
    mut exit: oneshot::Receiver<Exit>,
    deadline: Option<Instant>,
) {
    let emit = async |output: Output| {
        if process.counts_as_use {
            guest.activity.touch();
        }
        process.emit(Event::Data(DataEvent { output: Some(output) })).await;
    };
    let mut overdue = std::pin::pin!(async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
        process.kill();
        pending::<()>().await;
    });
    let mut open = true;
    let exit = loop {
        tokio::select! {
            exit = &mut exit => break exit.ok(),
            () = &mut overdue => {}
            output = outputs.next(), if open => match output {
                // A listener may hold this up for as long as it likes, but not past the deadline.
                Some(output) => tokio::select! {
                    () = emit(output) => {}
                    () = &mut overdue => {}
                },
                None => open = false,
            },
        }
    };
    settle(outputs, emit).await;
    guest.processes.finish(&process, end_event(exit.unwrap_or(Exit::Code(-1)))).await;
}

/// Delivers what an ended process has written: all of it, but waits only shortly for others that hold its
/// pipes. Those may write on without ever being told that nobody reads.
pub(crate) async fn settle(mut outputs: Outputs, mut emit: impl AsyncFnMut(Output)) {
    let deadline = Instant::now() + GRACE;
    loop {
        match timeout_at(deadline, outputs.next()).await {
            Ok(Some(output)) => emit(output).await,
            Ok(None) => return,
            Err(_) => break,
        }
    }
    // Enough for both outputs' whole capacity, and no more: the others may never stop.
    for _ in 0..=2 * CAPACITY / CHUNK {
        let Some(output) = outputs.next_now() else { break };
        emit(output).await;
    }
    tokio::task::spawn_local(async move { while outputs.next().await.is_some() {} });
}

fn end_event(exit: Exit) -> EndEvent {
    let status = exit.to_string();
    EndEvent {
        exit_code: match exit {
            Exit::Code(code) => code,
            Exit::Signal { .. } => -1,
        },
        exited: matches!(exit, Exit::Code(_)),
        error: (exit != Exit::Code(0)).then(|| status.clone()),
        status,
    }
}
