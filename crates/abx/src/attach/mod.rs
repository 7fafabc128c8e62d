//! A process of a sandbox in the caller's foreground.
//!
//! In: a started process ([`Process`]: its events and the calls that reach it) and how to join it to the
//! caller. Out: how it ended. Three things go on at once until it ends: its output is written ([`output`]),
//! input is sent ([`input`]), signals and resizes are passed on ([`signals`]).

mod input;
mod output;
mod process;
mod signals;

pub(crate) use output::{Captured, Output};
pub(crate) use process::{Control, Event, Events, ExitOutcome, Stream};

use crate::Failure;
use crate::terminal::RawMode;
use input::Input;
use signals::Signals;

/// How the caller is joined to the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttachOptions {
    /// The process has a terminal: the caller's becomes raw and its size is passed on.
    pub(crate) tty: bool,
    /// Standard input is passed on.
    pub(crate) interactive: bool,
}

/// Stays with the process until it ends, or the caller has had enough of it.
///
/// # Errors
/// The connection to the process, or what reads the output, is lost. The terminal is restored in any case.
pub(crate) async fn attach(
    events: impl Events,
    control: &impl Control,
    options: AttachOptions,
    output: &mut Output,
) -> Result<ExitOutcome, Failure> {
    let mut signals = Signals::listen(options.tty).map_err(Failure::Output)?;
    let input = match options.interactive {
        true => Some(Input::start(std::io::stdin()).map_err(Failure::Output)?),
        false => None,
    };
    let raw =
        (options.tty && options.interactive && crate::terminal::stdin_is_terminal()).then(RawMode::enter);
    let _raw = raw.transpose().map_err(Failure::Output)?;
    join(events, control, input, &mut signals, output).await
}

async fn join(
    events: impl Events,
    control: &impl Control,
    input: Option<Input>,
    signals: &mut Signals,
    output: &mut Output,
) -> Result<ExitOutcome, Failure> {
    let outcome = tokio::select! {
        outcome = pump_output(events, output) => outcome,
        never = pump_input(input, control) => match never {},
        given_up = signals.pump(control) => return Ok(given_up),
    };
    if let Err(Failure::Output(_)) = &outcome {
        // Nobody reads any more: end it, as a broken pipe would have.
        let _ = control.signal(signals::TERMINATE).await;
    }
    outcome
}

/// Writes the process's output until it ends.
async fn pump_output(mut events: impl Events, output: &mut Output) -> Result<ExitOutcome, Failure> {
    loop {
        match events.next().await? {
            Event::Output(stream, bytes) => output.write(stream, bytes).await.map_err(Failure::Output)?,
            Event::Ended(outcome) => {
                output.finish().await.map_err(Failure::Output)?;
                return Ok(outcome);
            }
        }
    }
}

/// Sends input as it comes, then its end. A process that no longer takes input is no error: it may go on.
async fn pump_input(input: Option<Input>, control: &impl Control) -> std::convert::Infallible {
    if let Some(mut input) = input {
        let mut open = true;
        while open {
            match input.next().await {
                Some(bytes) => open = control.send_input(bytes).await.is_ok(),
                None => {
                    let _ = control.close_input().await;
                    open = false;
                }
            }
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests;
