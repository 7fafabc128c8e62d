//! Standard input as chunks.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Bytes of a chunk at most.
const CHUNK: usize = 32 * 1024;
/// Chunks that wait to be sent.
const WAITING: usize = 4;

/// Reads on a thread of its own, because reading a terminal, a pipe and a file alike can block. Dropping it
/// stops the thread before it takes another byte: what is typed after that is left to the next reader.
pub(crate) struct Input {
    chunks: Receiver<Bytes>,
    /// Its other end sees the hang-up.
    _stop: OwnedFd,
}

impl Input {
    /// Begins to read.
    pub(crate) fn start(source: impl AsFd) -> io::Result<Self> {
        let source = source.as_fd().try_clone_to_owned()?;
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (sender, chunks) = channel(WAITING);
        std::thread::Builder::new()
            .name("abx-stdin".into())
            .spawn(move || read(&source, &stopped, &sender))?;
        Ok(Self { chunks, _stop: stop })
    }

    /// The next chunk, `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        self.chunks.recv().await
    }
}

fn read(source: &OwnedFd, stopped: &OwnedFd, sender: &Sender<Bytes>) {
    loop {
        let mut ready = [PollFd::new(source, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) if !ready[1].revents().is_empty() => return,
            Ok(_) => {}
        }
        let mut chunk = vec![0; CHUNK];
        match rustix::io::read(source, &mut chunk) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            // A terminal that is gone reports EIO: its end, as far as the process is concerned.
            Ok(0) | Err(_) => return,
            Ok(length) => {
                chunk.truncate(length);
                if sender.blocking_send(chunk.into()).is_err() {
                    return;
                }
            }
        }
    }
}
