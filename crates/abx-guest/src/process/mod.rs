//! Processes that calls started: what is known of them, and who listens.
//!
//! - [`mod@launch`]: from a request to a running process,
//! - [`pump`]: carries its output to its listeners until it has ended,
//! - [`events`]: one listener's stream on the wire,
//! - [`tree`]: ending a process with all it started,
//! - [`service`]: the calls.

mod events;
mod launch;
mod pump;
pub(crate) mod service;
pub(crate) mod tree;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;

use abx_protocol::process::{EndEvent, Event, ProcessConfig, ProcessEvent, PtySize};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::{Mutex, mpsc};

use crate::channel::Channel;
use crate::pty;
use crate::reaper::End;

pub(crate) use launch::{Launch, LaunchError, launch};
pub(crate) use pump::{Outputs, settle};

/// Events a listener may lag behind before the process is held back.
const LAG: usize = 4;
/// Ended processes whose `end` a late listener can still have.
const REMEMBERED: usize = 128;

/// A running process.
pub(crate) struct Process {
    pid: Pid,
    /// Once reached, its number may be another's, while its last output is still on the way.
    end: Rc<End>,
    pub(crate) tag: Option<String>,
    pub(crate) config: ProcessConfig,
    /// The startup command is no sign of use, nor is what it writes.
    pub(crate) counts_as_use: bool,
    stdin: Mutex<Stdin>,
    /// The terminal, where it has one.
    terminal: Option<Rc<Channel>>,
    listeners: RefCell<Vec<mpsc::Sender<ProcessEvent>>>,
}

enum Stdin {
    Open(Channel),
    Closed,
    /// None was wanted.
    Absent,
}

/// Why input did not reach a process.
#[derive(Debug)]
pub(crate) enum InputError {
    NoStdin,
    NoTerminal,
    Io(io::Error),
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoStdin => f.write_str("stdin not enabled or closed"),
            Self::NoTerminal => f.write_str("tty not assigned to process"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Process {
    /// The process number as the protocol has it.
    pub(crate) fn number(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// A receiver of all events from now on. It holds the process back when it lags; dropping it lets go.
    pub(crate) fn listen(&self) -> mpsc::Receiver<ProcessEvent> {
        let (sender, receiver) = mpsc::channel(LAG);
        self.listeners.borrow_mut().push(sender);
        receiver
    }

    async fn emit(&self, event: impl Into<ProcessEvent>) {
        let event = event.into();
        let listeners = self.listeners.borrow().clone();
        let mut deserted = false;
        for listener in &listeners {
            deserted |= listener.send(event.clone()).await.is_err();
        }
        if deserted {
            self.listeners.borrow_mut().retain(|listener| !listener.is_closed());
        }
    }

    /// It has ended; its last output may still be on the way.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_reached()
    }

    /// Ends it with all it started.
    pub(crate) fn kill(&self) {
        if !self.has_ended() {
            tree::kill(self.pid);
        }
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        self.end.reached().await;
    }

    /// Signals its process group.
    pub(crate) fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        if self.has_ended() { Err(Errno::SRCH) } else { kill_process_group(self.pid, signal) }
    }

    /// Writes to its pipe.
    pub(crate) async fn write_stdin(&self, bytes: &[u8]) -> Result<(), InputError> {
        match &*self.stdin.lock().await {
            Stdin::Open(channel) => channel.write(bytes).await.map_err(InputError::Io),
            Stdin::Closed | Stdin::Absent => Err(InputError::NoStdin),
        }
    }

    /// Writes to its terminal.
    pub(crate) async fn write_terminal(&self, bytes: &[u8]) -> Result<(), InputError> {
        // Writers take turns, so that two calls' bytes do not mix.
        let _turn = self.stdin.lock().await;
        let terminal = self.terminal.as_ref().ok_or(InputError::NoTerminal)?;
        terminal.write(bytes).await.map_err(InputError::Io)
    }

    /// Ends its input; what was written before arrives first. Doing it again is no error.
    pub(crate) async fn close_stdin(&self) -> Result<(), InputError> {
        let mut stdin = self.stdin.lock().await;
        if matches!(*stdin, Stdin::Absent) {
            return Err(InputError::NoStdin);
        }
        *stdin = Stdin::Closed;
        Ok(())
    }

    /// Changes its terminal's size.
    pub(crate) fn resize(&self, size: PtySize) -> Result<(), InputError> {
        let terminal = self.terminal.as_ref().ok_or(InputError::NoTerminal)?;
        pty::resize(&**terminal, size).map_err(InputError::Io)
    }
}

/// All processes that calls started.
#[derive(Default)]
pub(crate) struct Processes {
    running: RefCell<BTreeMap<u32, Rc<Process>>>,
    ended: RefCell<VecDeque<Ended>>,
}

/// A process that is gone.
#[derive(Clone)]
struct Ended {
    pid: u32,
    tag: Option<String>,
    end: EndEvent,
}

impl Processes {
    /// Those that run, by number.
    pub(crate) fn running(&self) -> Vec<Rc<Process>> {
        self.running.borrow().values().cloned().collect()
    }

    /// How many calls' processes run.
    pub(crate) fn in_use(&self) -> usize {
        self.running.borrow().values().filter(|process| process.counts_as_use).count()
    }

    fn by_pid(&self, pid: u32) -> Option<Rc<Process>> {
        self.running.borrow().get(&pid).cloned()
    }

    fn by_tag(&self, tag: &str) -> Option<Rc<Process>> {
        let running = self.running.borrow();
        running.values().find(|process| process.tag.as_deref() == Some(tag)).cloned()
    }

    fn ended(&self, matches: impl Fn(&Ended) -> bool) -> Option<Ended> {
        self.ended.borrow().iter().rev().find(|ended| matches(ended)).cloned()
    }

    fn add(&self, process: Rc<Process>) {
        self.running.borrow_mut().insert(process.number(), process);
    }

    /// Remembers how a process ended, then tells its listeners.
    async fn finish(&self, process: &Rc<Process>, end: EndEvent) {
        let number = process.number();
        if self.by_pid(number).is_some_and(|running| Rc::ptr_eq(&running, process)) {
            self.running.borrow_mut().remove(&number);
        }
        self.remember(Ended { pid: number, tag: process.tag.clone(), end: end.clone() });
        process.emit(Event::End(end)).await;
        process.listeners.borrow_mut().clear();
    }

    fn remember(&self, ended: Ended) {
        let mut all = self.ended.borrow_mut();
        if all.len() == REMEMBERED {
            all.pop_front();
        }
        all.push_back(ended);
    }
}
