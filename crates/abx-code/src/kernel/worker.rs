//! The small worker of ours: plain Python that keeps what was defined, for templates without a kernel.
//!
//! Its standard input is a socket: cells go out and what happens comes back, each a JSON object behind its
//! length in four bytes. The first frame out is the program itself. Output is what comes through the pipes.

use std::cell::Cell;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;

use abx_protocol::code::CodeError;
use bytes::{Buf, BytesMut};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Notify;

use super::pipe::Pipe;
use super::process::Process;
use super::zmtp::LARGEST;
use super::{HELPER, Happening, KernelError, Surroundings};

const BOOT: &str = include_str!("../python/boot.py");
const PROGRAM: &str = include_str!("../python/worker.py");

/// One worker.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(super) process: Process,
    stream: UnixStream,
    buffer: BytesMut,
    outputs: Rc<Outputs>,
    /// The cell has begun: what the pipes hold is its output.
    begun: bool,
    /// The cell is done; what it wrote is still being read.
    done: bool,
}

/// Both pipes; between cells nobody listens to what threads and children left behind write.
#[derive(Debug)]
struct Outputs {
    stdout: Pipe,
    stderr: Pipe,
    busy: Cell<bool>,
    changed: Notify,
}

/// What the worker says.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Said {
    Count { count: u64 },
    Shown { main: bool, forms: Map<String, Value> },
    Raised(CodeError),
    Done,
}

impl Worker {
    pub(super) async fn start(python: &Path, surroundings: Surroundings<'_>) -> Result<Self, KernelError> {
        let name = || python.to_string_lossy().into_owned();
        let failed = |source| KernelError::Spawn { name: name(), source };
        let (ours, theirs) = StdStream::pair().map_err(failed)?;
        let argv = [name(), "-c".to_owned(), BOOT.to_owned()];
        let stdin = Stdio::from(std::os::fd::OwnedFd::from(theirs));
        let process =
            Process::start(&argv, surroundings.env, surroundings.directory, stdin).map_err(failed)?;
        let mut worker = Self::over(process, ours).map_err(failed)?;
        let sources = json!({ "program": PROGRAM, "helper": HELPER });
        // That it has ended shows with the first cell.
        let _ = worker.send(&sources).await;
        tokio::task::spawn_local(worker.outputs.clone().discard_between_cells());
        Ok(worker)
    }

    fn over(mut process: Process, stream: StdStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let (stdout, stderr) = process.outputs()?;
        let outputs = Outputs { stdout, stderr, busy: Cell::new(true), changed: Notify::new() };
        Ok(Self {
            process,
            stream: UnixStream::from_std(stream)?,
            buffer: BytesMut::new(),
            outputs: Rc::new(outputs),
            begun: true,
            done: false,
        })
    }

    pub(super) async fn submit(&mut self, code: &str, hidden: bool) {
        self.outputs.set_busy(true);
        (self.begun, self.done) = (hidden, false);
        let _ = self.send(&json!({ "code": code, "hidden": hidden })).await;
    }

    async fn send(&mut self, value: &Value) -> io::Result<()> {
        let text = value.to_string();
        let mut frame = (text.len() as u32).to_be_bytes().to_vec();
        frame.extend(text.into_bytes());
        self.stream.write_all(&frame).await
    }

    pub(super) async fn next(&mut self) -> Happening {
        loop {
            if self.done {
                return self.outputs.next_now().unwrap_or_else(|| {
                    self.outputs.set_busy(false);
                    Happening::Done
                });
            }
            let outputs = self.outputs.clone();
            let said = tokio::select! {
                biased;
                happening = outputs.next(), if self.begun => return happening,
                said = said(&mut self.stream, &mut self.buffer) => said,
            };
            match said {
                Ok(Said::Count { count }) => {
                    self.begun = true;
                    return Happening::Count(count);
                }
                Ok(Said::Shown { main, forms }) => return Happening::Shown { main, forms },
                Ok(Said::Raised(error)) => return Happening::Raised(error),
                Ok(Said::Done) => self.done = true,
                Err(_) => return Happening::Ended(self.process.end().await),
            }
        }
    }

    pub(super) fn interrupt(&self) {
        self.process.interrupt();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Ends the task that looks after the pipes, once the processes that hold them are gone.
        self.outputs.set_busy(false);
    }
}

/// The next thing the worker says. Bytes of half a frame stay in the buffer.
async fn said(stream: &mut UnixStream, buffer: &mut BytesMut) -> io::Result<Said> {
    loop {
        if let Some(head) = buffer.get(..4) {
            let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
            if length > LARGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if buffer.len() >= 4 + length {
                buffer.advance(4);
                return serde_json::from_slice(&buffer.split_to(length)).map_err(io::Error::from);
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

impl Outputs {
    fn set_busy(&self, busy: bool) {
        self.busy.set(busy);
        self.changed.notify_one();
    }

    /// The next output; never where both are closed, which only the end of the worker is reported for.
    async fn next(&self) -> Happening {
        tokio::select! {
            Some(text) = self.stdout.read() => Happening::Stdout(text),
            Some(text) = self.stderr.read() => Happening::Stderr(text),
            else => std::future::pending().await,
        }
    }

    /// What is there right now.
    fn next_now(&self) -> Option<Happening> {
        let stdout = self.stdout.read_now().map(Happening::Stdout);
        stdout.or_else(|| self.stderr.read_now().map(Happening::Stderr))
    }

    /// Keeps the pipes from filling up while no cell runs.
    async fn discard_between_cells(self: Rc<Self>) {
        loop {
            let changed = self.changed.notified();
            if self.busy.get() {
                changed.await;
                continue;
            }
            tokio::select! {
                // First: what comes of a new cell is not ours to drop.
                biased;
                () = changed => {}
                text = self.stdout.read() => if text.is_none() { return },
                text = self.stderr.read() => if text.is_none() { return },
            }
        }
    }
}
