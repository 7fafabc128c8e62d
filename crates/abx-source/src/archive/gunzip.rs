//! Decompression in a thread of its own, some way ahead of whoever reads.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use flate2::read::MultiGzDecoder;

/// What is sent begins otherwise than a gzip archive.
#[derive(Debug, thiserror::Error)]
#[error("it is no gzip archive")]
pub(super) struct NotGzip;

/// Bytes handed over at a time.
const CHUNK: usize = 128 << 10;

/// So many of them may wait.
const AHEAD: usize = 8;

const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Yields what a gzip archive of one or more members holds. Bytes that are no further member are an error.
pub(crate) struct Gunzip {
    full: Receiver<io::Result<Vec<u8>>>,
    /// Chunks that were read go back to be filled again.
    empty: SyncSender<Vec<u8>>,
    chunk: Vec<u8>,
    /// How much of it was read.
    at: usize,
    is_over: bool,
}

impl Gunzip {
    /// Starts the thread. It ends with its source, or at the next chunk after the reader is gone.
    pub(crate) fn start(source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, full) = sync_channel(AHEAD);
        // As many as can be on their way, so that giving one back never waits.
        let (empty, spent) = sync_channel(AHEAD + 2);
        let run = move || {
            if let Err(error) = decompress(source, &sender, &spent) {
                let _ = sender.send(Err(error));
            }
        };
        std::thread::Builder::new().name("abx-gunzip".to_owned()).spawn(run)?;
        Ok(Self { full, empty, chunk: Vec::new(), at: 0, is_over: false })
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        let _ = self.empty.try_send(std::mem::take(&mut self.chunk));
        self.at = 0;
        // The end is a chunk without bytes: a thread that died says nothing.
        self.chunk = self.full.recv().unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()))?;
        self.is_over = self.chunk.is_empty();
        Ok(())
    }
}

impl Read for Gunzip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() && !self.is_over {
            self.next_chunk()?;
        }
        let count = buffer.len().min(self.chunk.len() - self.at);
        buffer[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Sends all there is, and an empty chunk at the end. Ends early where nobody listens.
fn decompress(
    mut source: impl Read,
    full: &SyncSender<io::Result<Vec<u8>>>,
    spent: &Receiver<Vec<u8>>,
) -> io::Result<()> {
    let mut magic = [0; MAGIC.len()];
    source.read_exact(&mut magic[..1])?;
    if magic[0] != MAGIC[0] {
        return Err(io::Error::other(NotGzip));
    }
    source.read_exact(&mut magic[1..])?;
    if magic != MAGIC {
        return Err(io::Error::other(NotGzip));
    }
    let mut decoder = MultiGzDecoder::new(magic.as_slice().chain(source));
    loop {
        let mut chunk = spent.try_recv().unwrap_or_default();
        chunk.clear();
        chunk.reserve_exact(CHUNK);
        (&mut decoder).take(CHUNK as u64).read_to_end(&mut chunk)?;
        let is_over = chunk.is_empty();
        if full.send(Ok(chunk)).is_err() || is_over {
            return Ok(());
        }
    }
}
