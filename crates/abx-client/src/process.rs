//! Starting a process, its events, its input.

use std::collections::BTreeMap;
use std::time::Duration;

use abx_protocol::envelope;
use abx_protocol::process::{
    CloseStdinRequest, ConnectRequest, DataEvent, Empty, Event, Input, Output, ProcessConfig,
    ProcessInput as WireInput, ProcessSelector, Pty, PtySize, SendSignalRequest, StartRequest, StartResponse,
    StreamInput, StreamInputData, StreamInputRequest, StreamInputStart, UpdateRequest,
};
use abx_protocol::signal::Exit;
use bytes::Bytes;
use http::Method;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::transport::{CODEC, Endpoint, Frames, RequestBody};
use crate::{Client, ClientError};

/// Pieces of input that may wait on this side.
const INPUT_DEPTH: usize = 4;
/// Input goes over in pieces of this size at most.
const INPUT_PIECE: usize = 64 << 10;

/// What to run. The default runs nothing: set `argv`.
#[derive(Clone, Debug, Default)]
pub struct ProcessRequest {
    /// The program, looked up in the sandbox's PATH, and its arguments.
    pub argv: Vec<String>,
    /// Added to the sandbox's environment, for this process alone.
    pub env: BTreeMap<String, String>,
    /// The sandbox's workdir where absent; relative to the user's home.
    pub cwd: Option<String>,
    /// The sandbox's user where absent.
    pub user: Option<String>,
    /// A terminal of this size. It is the process's input too, whatever `stdin` says.
    pub pty: Option<PtySize>,
    /// Whether it gets a pipe as its input, else `/dev/null`.
    pub stdin: bool,
    /// A name to find it by.
    pub tag: Option<String>,
    /// After this the process is killed with all it started, and the stream ends with
    /// [`ClientError::Timeout`].
    pub timeout: Option<Duration>,
}

/// Something a process did. Output comes in pieces cut anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEvent {
    Stdout(Bytes),
    Stderr(Bytes),
    /// What the terminal shows.
    Pty(Bytes),
    /// The last one.
    End(Exit),
}

impl Client {
    /// Starts a process and returns once it runs.
    pub async fn start(&self, request: ProcessRequest) -> Result<ProcessStream, ClientError> {
        let mut argv = request.argv.into_iter();
        let start = StartRequest {
            process: Some(ProcessConfig {
                cmd: argv.next().unwrap_or_default(),
                args: argv.collect(),
                envs: request.env,
                cwd: request.cwd,
            }),
            pty: request.pty.map(|size| Pty { size: Some(size) }),
            tag: request.tag,
            stdin: Some(request.stdin),
        };
        let mut builder =
            self.endpoint.request(Method::POST, "/process.Process/Start", request.user.as_deref());
        if let Some(timeout) = request.timeout {
            builder = builder.header("connect-timeout-ms", timeout.as_millis().max(1).to_string());
        }
        let body = envelope::message(CODEC, &start);
        let frames = self.endpoint.stream("start", builder, body.into()).await?;
        ProcessStream::open(self.endpoint.clone(), frames, request.pty.is_some()).await
    }

    /// Listens to a process that runs already, or learns how one ended lately. What it wrote while nobody listened is
    /// gone.
    pub async fn connect(&self, pid: u32, has_terminal: bool) -> Result<ProcessStream, ClientError> {
        self.listen(ProcessSelector::pid(pid), has_terminal).await
    }

    /// The same by the tag that it was started with.
    pub async fn connect_tag(&self, tag: &str, has_terminal: bool) -> Result<ProcessStream, ClientError> {
        self.listen(ProcessSelector::tag(tag), has_terminal).await
    }

    async fn listen(
        &self,
        process: ProcessSelector,
        has_terminal: bool,
    ) -> Result<ProcessStream, ClientError> {
        let request = ConnectRequest { process: Some(process) };
        let builder = self.endpoint.request(Method::POST, "/process.Process/Connect", None);
        let body = envelope::message(CODEC, &request);
        let frames = self.endpoint.stream("connect", builder, body.into()).await?;
        ProcessStream::open(self.endpoint.clone(), frames, has_terminal).await
    }

    /// Signals a process: 9 ends it with all it started, another goes to its process group.
    pub async fn signal(&self, pid: u32, signal: i32) -> Result<(), ClientError> {
        ProcessControl { endpoint: self.endpoint.clone(), pid }.signal(signal).await
    }
}

/// A running process's events. Dropping it leaves the process alone.
#[derive(Debug)]
pub struct ProcessStream {
    frames: Frames,
    control: ProcessControl,
    has_terminal: bool,
    input: Option<ProcessInput>,
    ended: bool,
}

impl ProcessStream {
    async fn open(endpoint: Endpoint, mut frames: Frames, has_terminal: bool) -> Result<Self, ClientError> {
        let pid = loop {
            let response: Option<StartResponse> = frames.next().await?;
            let event = response.and_then(|response| response.event).and_then(|event| event.event);
            match event {
                Some(Event::Start(start)) => break start.pid,
                Some(Event::KeepAlive(_)) => {}
                _ => {
                    let what = "no start event".to_owned();
                    return Err(ClientError::Malformed { call: "start", what });
                }
            }
        };
        let control = ProcessControl { endpoint, pid };
        Ok(Self { frames, control, has_terminal, input: None, ended: false })
    }

    /// The process's number inside the sandbox.
    pub fn pid(&self) -> u32 {
        self.control.pid
    }

    /// The next event; `None` after [`ProcessEvent::End`]. Not reading holds the process back once it has
    /// written enough. May be dropped and called again without losing anything.
    pub async fn next(&mut self) -> Result<Option<ProcessEvent>, ClientError> {
        while !self.ended {
            let response: Option<StartResponse> = self.frames.next().await?;
            let Some(response) = response else {
                self.ended = true;
                break;
            };
            match response.event.and_then(|event| event.event) {
                Some(Event::Data(DataEvent { output: Some(output) })) => {
                    return Ok(Some(match output {
                        Output::Stdout(bytes) => ProcessEvent::Stdout(bytes),
                        Output::Stderr(bytes) => ProcessEvent::Stderr(bytes),
                        Output::Pty(bytes) => ProcessEvent::Pty(bytes),
                    }));
                }
                Some(Event::End(end)) => {
                    self.ended = true;
                    return Ok(Some(ProcessEvent::End(
                        Exit::parse(&end.status).unwrap_or(Exit::Code(end.exit_code)),
                    )));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// A handle that signals and resizes, for use beside [`ProcessStream::next`].
    pub fn control(&self) -> ProcessControl {
        self.control.clone()
    }

    /// A handle that writes the process's input, for use beside [`ProcessStream::next`].
    pub fn input(&self) -> ProcessInput {
        ProcessInput { control: self.control.clone(), has_terminal: self.has_terminal, stream: None }
    }

    /// Writes to the process's input; waits while it takes none.
    pub async fn send_stdin(&mut self, bytes: Bytes) -> Result<(), ClientError> {
        let input = self.input.take().unwrap_or_else(|| self.input());
        self.input.insert(input).send(bytes).await
    }

    /// Ends the process's input once all that was sent has arrived.
    pub async fn close_stdin(&mut self) -> Result<(), ClientError> {
        let input = self.input.take().unwrap_or_else(|| self.input());
        input.close().await
    }

    /// Changes the size of the process's terminal.
    pub async fn resize(&self, size: PtySize) -> Result<(), ClientError> {
        self.control.resize(size).await
    }

    /// Signals the process: 9 ends it with all it started, another goes to its process group.
    pub async fn signal(&self, signal: i32) -> Result<(), ClientError> {
        self.control.signal(signal).await
    }
}

/// Signals and resizes a process.
#[derive(Clone, Debug)]
pub struct ProcessControl {
    endpoint: Endpoint,
    pid: u32,
}

impl ProcessControl {
    /// See [`ProcessStream::resize`].
    pub async fn resize(&self, size: PtySize) -> Result<(), ClientError> {
        let request = UpdateRequest { process: Some(self.selector()), pty: Some(Pty { size: Some(size) }) };
        let _: Empty = self.endpoint.unary("resize", "/process.Process/Update", None, &request, None).await?;
        Ok(())
    }

    /// See [`ProcessStream::signal`].
    pub async fn signal(&self, signal: i32) -> Result<(), ClientError> {
        let request = SendSignalRequest { process: Some(self.selector()), signal };
        let _: Empty =
            self.endpoint.unary("signal", "/process.Process/SendSignal", None, &request, None).await?;
        Ok(())
    }

    fn selector(&self) -> ProcessSelector {
        ProcessSelector::pid(self.pid)
    }
}

/// Writes a process's input over a connection of its own, made at the first write.
#[derive(Debug)]
pub struct ProcessInput {
    control: ProcessControl,
    has_terminal: bool,
    stream: Option<InputStream>,
}

#[derive(Debug)]
struct InputStream {
    pieces: mpsc::Sender<std::io::Result<Bytes>>,
    answer: JoinHandle<Result<(), ClientError>>,
}

impl ProcessInput {
    /// Writes all of it; waits while the process takes none. Fails when the process is gone or has closed its
    /// input.
    pub async fn send(&mut self, bytes: Bytes) -> Result<(), ClientError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(INPUT_PIECE));
            let input = if self.has_terminal { Input::Pty(piece) } else { Input::Stdin(piece) };
            let data = StreamInputData { input: Some(WireInput { input: Some(input) }) };
            self.push(StreamInput::Data(data)).await?;
        }
        Ok(())
    }

    /// Ends the process's input once all that was sent has arrived. A terminal has no end: it gets ^D.
    pub async fn close(mut self) -> Result<(), ClientError> {
        if self.has_terminal {
            self.send(Bytes::from_static(b"\x04")).await?;
            return self.finish().await;
        }
        self.finish().await?;
        let request = CloseStdinRequest { process: Some(self.control.selector()) };
        let endpoint = &self.control.endpoint;
        let _: Empty =
            endpoint.unary("close stdin", "/process.Process/CloseStdin", None, &request, None).await?;
        Ok(())
    }

    async fn push(&mut self, event: StreamInput) -> Result<(), ClientError> {
        if self.stream.is_none() {
            let stream = open_input(&self.control.endpoint);
            let start = StreamInput::Start(StreamInputStart { process: Some(self.control.selector()) });
            // The queue is empty: there is room.
            let _ = stream.pieces.try_send(Ok(frame(start)));
            self.stream = Some(stream);
        }
        let Some(stream) = &self.stream else { return Ok(()) };
        if stream.pieces.send(Ok(frame(event))).await.is_ok() {
            return Ok(());
        }
        // The daemon answered before the end: with an error.
        self.finish().await?;
        Err(ClientError::Gone { call: "send input", source: None })
    }

    /// Waits until the daemon has taken everything.
    async fn finish(&mut self) -> Result<(), ClientError> {
        let Some(InputStream { pieces, answer }) = self.stream.take() else { return Ok(()) };
        drop(pieces);
        answer.await.unwrap_or(Err(ClientError::Gone { call: "send input", source: None }))
    }
}

fn frame(event: StreamInput) -> Bytes {
    envelope::message(CODEC, &StreamInputRequest { event: Some(event) })
}

fn open_input(endpoint: &Endpoint) -> InputStream {
    let (pieces, receiver) = mpsc::channel(INPUT_DEPTH);
    let endpoint = endpoint.clone();
    let answer = tokio::spawn(async move {
        let builder = endpoint.request(Method::POST, "/process.Process/StreamInput", None);
        let body = RequestBody::Stream(receiver);
        let mut frames = endpoint.stream("send input", builder, body).await?;
        while frames.next::<Empty>().await?.is_some() {}
        Ok(())
    });
    InputStream { pieces, answer }
}
