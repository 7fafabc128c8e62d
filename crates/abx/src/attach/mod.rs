//! A process of a sandbox in the caller's foreground.
//!
//! In: a started process and how to join it to the caller. Out: how it ended. Three things go on at once until
//! then: its output is written ([`output`]), input is sent ([`input`]), signals and resizes are passed on
//! ([`signals`]).

mod input;
mod output;
mod process;
mod signals;

pub(crate) use output::{Captured, Output};
pub(crate) use process::ExitOutcome;

use abx_client::{ClientError, ProcessEvent, ProcessStream};
use output::Stream;
use process::{Control, Events, Sink};

use crate::Failure;
use crate::terminal::RawMode;
pub(crate) use input::Input;
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
    process: ProcessStream,
    options: AttachOptions,
    output: &mut Output,
) -> Result<ExitOutcome, Failure> {
    let signals = Signals::listen(options.tty).map_err(Failure::Output)?;
    let source = options.interactive.then(|| Input::start(std::io::stdin())).transpose();
    let source = source.map_err(Failure::Output)?;
    let raw = options.tty && options.interactive && crate::terminal::stdin_is_terminal();
    let _raw = raw.then(|| RawMode::enter(std::io::stdin())).transpose().map_err(Failure::Output)?;
    let (control, sink) = (process.control(), process.input());
    join(process, source.map(|source| (source, sink)), &control, signals, output).await
}

async fn join(
    events: impl Events,
    input: Option<(Input, impl Sink)>,
    control: &impl Control,
    mut signals: Signals,
    output: &mut Output,
) -> Result<ExitOutcome, Failure> {
    let outcome = tokio::select! {
        outcome = pump_output(events, output) => outcome,
        never = pump_input(input) => match never {},
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
    while let Some(event) = events.next().await? {
        let (stream, bytes) = match event {
            ProcessEvent::Stdout(bytes) | ProcessEvent::Pty(bytes) => (Stream::Stdout, bytes),
            ProcessEvent::Stderr(bytes) => (Stream::Stderr, bytes),
            ProcessEvent::End(exit) => {
                output.finish().await.map_err(Failure::Output)?;
                return Ok(ExitOutcome::Ended(exit));
            }
        };
        output.write(stream, bytes).await.map_err(Failure::Output)?;
    }
    Err(ClientError::Gone { call: "the command", source: None }.into())
}

/// Sends input as it comes, then its end. A process that no longer takes input is no error: it may go on.
async fn pump_input(input: Option<(Input, impl Sink)>) -> std::convert::Infallible {
    if let Some((mut input, mut sink)) = input {
        let mut open = true;
        while open {
            match input.next().await {
                Some(bytes) => open = sink.send(bytes).await.is_ok(),
                None => break,
            }
        }
        if open {
            let _ = sink.close().await;
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests;
