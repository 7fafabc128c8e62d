//! The process's output on its way to the caller.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::{mpsc, oneshot};

/// Chunks that wait to be written.
const WAITING: usize = 8;

/// Where a piece of output belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// Standard output, or everything where the process has a terminal.
    Stdout,
    Stderr,
}

/// Where output goes.
pub(crate) enum Output {
    /// To the caller's stdout and stderr.
    Pass(Writer),
    /// Into memory.
    Capture(Captured),
}

/// Output kept in memory: of each stream no more than [`KEPT`], as a sandbox may write without end.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// There was more.
    pub(crate) truncated: bool,
}

/// Bytes of a stream that are kept.
const KEPT: usize = 16 << 20;

impl Captured {
    fn keep(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = (KEPT - kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..room]);
        self.truncated |= room < bytes.len();
    }
}

impl Output {
    /// Passes output on.
    pub(crate) fn pass() -> io::Result<Self> {
        Ok(Self::Pass(Writer::start(io::stdout(), io::stderr())?))
    }

    /// Keeps output.
    pub(crate) fn capture() -> Self {
        Self::Capture(Captured::default())
    }

    /// Takes a piece of output; waits where the caller reads slowly.
    pub(super) async fn write(&mut self, stream: Stream, bytes: Bytes) -> io::Result<()> {
        match (self, stream) {
            (Self::Pass(writer), _) => writer.write(stream, bytes).await,
            (Self::Capture(captured), stream) => {
                captured.keep(stream, &bytes);
                Ok(())
            }
        }
    }

    /// Waits until everything is written.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Pass(writer) => writer.finish().await,
            Self::Capture(_) => Ok(()),
        }
    }
}

/// Writes on a thread of its own, so that a reader that stops reading stops neither signals nor input.
pub(crate) struct Writer {
    chunks: Option<mpsc::Sender<(Stream, Bytes)>>,
    result: Option<oneshot::Receiver<io::Result<()>>>,
}

impl Writer {
    pub(super) fn start(stdout: impl AsFd, stderr: impl AsFd) -> io::Result<Self> {
        let stdout = Target(stdout.as_fd().try_clone_to_owned()?);
        let stderr = Target(stderr.as_fd().try_clone_to_owned()?);
        let (chunks, receiver) = mpsc::channel(WAITING);
        let (sender, result) = oneshot::channel();
        std::thread::Builder::new().name("abx-output".into()).spawn(move || {
            // Nobody waits for the result of output that was given up.
            let _ = sender.send(write_all(receiver, stdout, stderr));
        })?;
        Ok(Self { chunks: Some(chunks), result: Some(result) })
    }

    async fn write(&mut self, stream: Stream, bytes: Bytes) -> io::Result<()> {
        let sent = match &self.chunks {
            Some(chunks) => chunks.send((stream, bytes)).await.is_ok(),
            None => false,
        };
        if sent { Ok(()) } else { self.finish().await }
    }

    async fn finish(&mut self) -> io::Result<()> {
        self.chunks = None;
        match self.result.take() {
            Some(result) => result.await.unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

fn write_all(
    mut chunks: mpsc::Receiver<(Stream, Bytes)>,
    mut stdout: Target,
    mut stderr: Target,
) -> io::Result<()> {
    while let Some((stream, bytes)) = chunks.blocking_recv() {
        match stream {
            Stream::Stdout => stdout.write_all(&bytes)?,
            Stream::Stderr => stderr.write_all(&bytes)?,
        }
    }
    Ok(())
}

/// A descriptor without a buffer. Waits where another process has made it non-blocking.
struct Target(OwnedFd);

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                result => return Ok(result?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
