//! Between bodies and code that reads and writes in the plain, blocking way.
//!
//! Such code runs on a thread of its own; a few pieces wait between it and the connection, so memory stays
//! constant and the slower side sets the pace.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes};
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::Body;

/// Pieces that may wait.
const DEPTH: usize = 4;
/// Bytes of one piece.
pub(crate) const PIECE: usize = 256 << 10;
/// So much of a refused body is still read, so that the sender gets to see the answer: closing a connection
/// with bytes unread may lose it.
pub(crate) const COURTESY: usize = 1 << 30;

/// Runs `work` on a thread with the body as its input, and returns what it returns.
pub(crate) async fn receive<T: Send + 'static>(
    body: Incoming,
    work: impl FnOnce(&mut dyn Read) -> T + Send + 'static,
) -> io::Result<T> {
    let (sender, pieces) = mpsc::channel(DEPTH);
    let worker = tokio::task::spawn_blocking(move || work(&mut BodyReader { pieces, piece: Bytes::new() }));
    feed(body, sender).await;
    worker.await.map_err(io::Error::other)
}

/// Reads a body for nothing, up to a budget.
pub(crate) async fn discard(mut body: Incoming, budget: usize) {
    let mut left = budget;
    while let Some(Ok(frame)) = body.frame().await {
        match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

async fn feed(mut body: Incoming, sender: mpsc::Sender<io::Result<Bytes>>) {
    while let Some(frame) = body.frame().await {
        let piece = match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(_trailers)) => continue,
            Err(error) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, error)),
        };
        let broken = piece.is_err();
        if sender.send(piece).await.is_err() {
            return discard(body, COURTESY).await;
        }
        if broken {
            return;
        }
    }
}

struct BodyReader {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece?,
                None => return Ok(0),
            }
        }
        let length = self.piece.len().min(buffer.len());
        self.piece.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// A body that `work` writes on a thread. Its error cuts the connection.
pub(crate) fn send(work: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Body {
    let (sender, pieces) = mpsc::channel(DEPTH);
    tokio::task::spawn_blocking(move || {
        let mut writer = BodyWriter { sender, buffer: Vec::new() };
        let result = work(&mut writer).and_then(|()| writer.flush());
        if let Err(error) = result {
            // Nobody listening any more is the usual error, and then this one goes unheard too.
            let _ = writer.sender.blocking_send(Err(error));
        }
    });
    Body::fallible(stream::unfold(pieces, |mut pieces| async move { Some((pieces.recv().await?, pieces)) }))
}

struct BodyWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    buffer: Vec<u8>,
}

impl Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve_exact(PIECE);
        }
        let length = bytes.len().min(PIECE - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..length]);
        if self.buffer.len() == PIECE {
            self.flush()?;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.buffer));
        self.sender.blocking_send(Ok(piece)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
