//! Signals to the caller, passed on to the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ExitOutcome;
use super::process::Control;
use crate::terminal;

const HANGUP: u8 = 1;
const INTERRUPT: u8 = 2;
const KILL: u8 = 9;
pub(super) const TERMINATE: u8 = 15;

/// The signals that concern a process in the foreground.
pub(super) struct Signals {
    hangup: Signal,
    interrupt: Signal,
    terminate: Signal,
    /// `None` where the process has no terminal.
    resize: Option<Signal>,
    received: usize,
}

impl Signals {
    /// Catches signals from now on.
    pub(super) fn listen(tty: bool) -> io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            resize: tty.then(|| signal(SignalKind::window_change())).transpose()?,
            received: 0,
        })
    }

    /// Passes the first signal on, answers the second by killing the process, and returns at the third: then
    /// the process is left alone.
    pub(super) async fn pump(&mut self, control: &impl Control) -> ExitOutcome {
        loop {
            let number = tokio::select! {
                _ = self.hangup.recv() => HANGUP,
                _ = self.interrupt.recv() => INTERRUPT,
                _ = self.terminate.recv() => TERMINATE,
                () = resized(&mut self.resize) => {
                    // The next resize, or the end of the process, will tell whether it was heard.
                    let _ = control.resize(terminal::size()).await;
                    continue;
                }
            };
            self.received += 1;
            // A call that fails or hangs must not stand between the caller and the next signal.
            let answer = match self.received {
                1 => control.signal(number),
                2 => control.signal(KILL),
                _ => return ExitOutcome::Left(number),
            };
            let _ = tokio::time::timeout(std::time::Duration::from_secs(2), answer).await;
        }
    }
}

async fn resized(resize: &mut Option<Signal>) {
    match resize {
        Some(resize) => {
            resize.recv().await;
        }
        None => std::future::pending().await,
    }
}
