//! The calls of `process.Process`.

use std::rc::Rc;
use std::time::Duration;

use abx_protocol::connect::{CallError, ErrorCode};
use abx_protocol::process::{
    CloseStdinRequest, ConnectRequest, Empty, Event, Input, ListResponse, ProcessInfo, ProcessInput,
    ProcessSelector, Selector, SendInputRequest, SendSignalRequest, StartRequest, StreamInput,
    StreamInputRequest, UpdateRequest,
};
use bytes::Bytes;
use futures_util::stream::Stream;
use rustix::process::Signal;
use tokio::sync::mpsc;

use super::{InputError, Launch, Process, events, launch};
use crate::activity::Busy;
use crate::guest::Guest;
use crate::http::rpc::{Call, Messages};

/// How long a killed process's end is awaited.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn list(guest: &Guest) -> ListResponse {
    let processes = guest.processes.running();
    ListResponse {
        processes: processes
            .iter()
            .map(|process| ProcessInfo {
                config: Some(process.config.clone()),
                pid: process.number(),
                tag: process.tag.clone(),
            })
            .collect(),
    }
}

/// Starts a process. The call's deadline is the process's own.
pub(crate) fn start(
    guest: &Rc<Guest>,
    call: Call,
    request: StartRequest,
    busy: Busy,
) -> Result<impl Stream<Item = Bytes> + use<>, CallError> {
    let user = call.user(guest)?;
    let config = request
        .process
        .filter(|config| !config.cmd.is_empty())
        .ok_or_else(|| CallError::new(ErrorCode::InvalidArgument, "process.cmd is missing"))?;
    let spec = Launch {
        config,
        user,
        pty: request.pty,
        stdin: request.stdin.unwrap_or(true),
        tag: request.tag,
        deadline: call.deadline,
        counts_as_use: true,
    };
    let (process, listener) = launch(guest, spec).map_err(|error| CallError {
        code: ErrorCode::InvalidArgument,
        message: error.to_string(),
        exit_status: error.exit_status(),
    })?;
    Ok(events::stream(call, process.number(), listener, busy))
}

/// Listens to a process that runs, or learns how one ended.
pub(crate) fn connect(
    guest: &Guest,
    call: Call,
    request: &ConnectRequest,
    busy: Busy,
) -> Result<impl Stream<Item = Bytes> + use<>, CallError> {
    match find(guest, request.process.as_ref()) {
        Ok(process) => Ok(events::stream(call, process.number(), process.listen(), busy)),
        Err(error) => {
            let selector = request.process.as_ref().and_then(|process| process.selector.as_ref());
            let ended = guest.processes.ended(|ended| match selector {
                Some(Selector::Pid(pid)) => ended.pid == *pid,
                Some(Selector::Tag(tag)) => ended.tag.as_ref() == Some(tag),
                None => false,
            });
            let ended = ended.ok_or(error)?;
            let (sender, listener) = mpsc::channel(1);
            let _ = sender.try_send(Event::End(ended.end).into());
            Ok(events::stream(call, ended.pid, listener, busy))
        }
    }
}

pub(crate) fn update(guest: &Guest, request: &UpdateRequest) -> Result<Empty, CallError> {
    let process = find(guest, request.process.as_ref())?;
    if let Some(size) = request.pty.and_then(|pty| pty.size) {
        process.resize(size).map_err(|error| internal("error resizing tty", &error))?;
    }
    Ok(Empty {})
}

pub(crate) async fn send_input(guest: &Guest, request: SendInputRequest) -> Result<Empty, CallError> {
    let process = find(guest, request.process.as_ref())?;
    write(&process, request.input).await?;
    Ok(Empty {})
}

/// Takes input for as long as the caller sends some. The process's pace is the caller's.
pub(crate) async fn stream_input(
    guest: &Guest,
    messages: &mut Messages<StreamInputRequest>,
) -> Result<Empty, CallError> {
    let mut process = None;
    while let Some(message) = messages.next().await? {
        guest.activity.touch();
        match message.event {
            Some(StreamInput::Start(start)) => process = Some(find(guest, start.process.as_ref())?),
            Some(StreamInput::Data(data)) => {
                let process = process.as_ref().ok_or_else(|| {
                    CallError::new(ErrorCode::InvalidArgument, "data before start in an input stream")
                })?;
                write(process, data.input).await?;
            }
            Some(StreamInput::KeepAlive(_)) => {}
            None => return Err(CallError::new(ErrorCode::Unimplemented, "invalid event type")),
        }
    }
    Ok(Empty {})
}

/// SIGKILL ends the whole tree, and the process is gone when the call returns; another signal goes to the
/// process's group.
pub(crate) async fn send_signal(guest: &Guest, request: &SendSignalRequest) -> Result<Empty, CallError> {
    let process = find(guest, request.process.as_ref())?;
    if process.has_ended() {
        return Err(no_process(process.number()));
    }
    let signal = Signal::from_named_raw(request.signal).ok_or_else(|| {
        CallError::new(ErrorCode::Unimplemented, format!("invalid signal: {}", request.signal))
    })?;
    if signal == Signal::KILL {
        process.kill();
        // One that the kernel holds may take its time.
        let _ = tokio::time::timeout(KILL_PATIENCE, process.ended()).await;
        return Ok(Empty {});
    }
    process.signal(signal).map_err(|error| internal("error sending signal", &error))?;
    Ok(Empty {})
}

pub(crate) async fn close_stdin(guest: &Guest, request: &CloseStdinRequest) -> Result<Empty, CallError> {
    let process = find(guest, request.process.as_ref())?;
    process
        .close_stdin()
        .await
        .map_err(|error| CallError::new(ErrorCode::Unknown, format!("error closing stdin: {error}")))?;
    Ok(Empty {})
}

async fn write(process: &Process, input: Option<ProcessInput>) -> Result<(), CallError> {
    let (result, device): (Result<(), InputError>, _) = match input.and_then(|input| input.input) {
        Some(Input::Stdin(bytes)) => (process.write_stdin(&bytes).await, "stdin"),
        Some(Input::Pty(bytes)) => (process.write_terminal(&bytes).await, "tty"),
        None => return Err(CallError::new(ErrorCode::Unimplemented, "invalid input type")),
    };
    result.map_err(|error| internal(&format!("error writing to {device}"), &error))
}

fn find(guest: &Guest, selector: Option<&ProcessSelector>) -> Result<Rc<Process>, CallError> {
    match selector.and_then(|selector| selector.selector.as_ref()) {
        Some(Selector::Pid(pid)) => guest.processes.by_pid(*pid).ok_or_else(|| no_process(*pid)),
        Some(Selector::Tag(tag)) => guest
            .processes
            .by_tag(tag)
            .ok_or_else(|| CallError::new(ErrorCode::NotFound, format!("process with tag {tag} not found"))),
        None => Err(CallError::new(ErrorCode::InvalidArgument, "no process selected")),
    }
}

fn no_process(pid: u32) -> CallError {
    CallError::new(ErrorCode::NotFound, format!("process with pid {pid} not found"))
}

fn internal(what: &str, error: &dyn std::fmt::Display) -> CallError {
    CallError::new(ErrorCode::Internal, format!("{what}: {error}"))
}
