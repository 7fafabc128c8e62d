//! Gzip on several processors.
//!
//! The stream is cut into blocks that are compressed each on its own and joined into one member, so any reader
//! takes it. Blocks have one size whatever the number of processors: the same bytes give the same stream.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use flate2::{Compress, Compression, Crc, FlushCompress};

/// Larger blocks compress better by little and are less alike to each processor's share.
const BLOCK: usize = 1 << 20;

/// No names, no time, an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// More would not help: hashing and reading go on beside.
const WORKERS: usize = 8;

/// Compresses what is written to it into `target`. Nothing counts before [`Gzip::finish`].
pub(crate) struct Gzip<W: Write> {
    target: W,
    block: Vec<u8>,
    crc: Crc,
    pool: Pool,
    /// Blocks being compressed, first one first.
    pending: VecDeque<Receiver<Vec<u8>>>,
}

struct Job {
    block: Vec<u8>,
    is_last: bool,
    answer: Sender<Vec<u8>>,
}

/// Threads that compress; they end when it is dropped.
struct Pool {
    jobs: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl<W: Write> Gzip<W> {
    pub(crate) fn new(mut target: W, level: Compression) -> io::Result<Self> {
        target.write_all(&HEADER)?;
        let block = Vec::with_capacity(BLOCK);
        Ok(Self { target, block, crc: Crc::new(), pool: Pool::start(level)?, pending: VecDeque::new() })
    }

    /// Ends the stream and hands its target back.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.submit(true)?;
        self.drain(0)?;
        self.target.write_all(&self.crc.sum().to_le_bytes())?;
        self.target.write_all(&self.crc.amount().to_le_bytes())?;
        Ok(self.target)
    }

    fn submit(&mut self, is_last: bool) -> io::Result<()> {
        self.drain(2 * self.pool.threads.len())?;
        let (answer, pending) = channel();
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        self.crc.update(&block);
        self.pool.submit(Job { block, is_last, answer })?;
        self.pending.push_back(pending);
        Ok(())
    }

    /// Writes finished blocks until at most `left` are under way.
    fn drain(&mut self, left: usize) -> io::Result<()> {
        while self.pending.len() > left {
            let Some(pending) = self.pending.pop_front() else { break };
            let block = pending.recv().map_err(io::Error::other)?;
            self.target.write_all(&block)?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Gzip<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.block.len() == BLOCK {
            self.submit(false)?;
        }
        let count = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Does nothing: only a whole stream is of use.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pool {
    fn start(level: Compression) -> io::Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(WORKERS);
        let (jobs, queue) = sync_channel::<Job>(count);
        let queue = Arc::new(Mutex::new(queue));
        let work = |queue: Arc<Mutex<Receiver<Job>>>| {
            move || {
                let mut compress = Compress::new(level, false);
                loop {
                    let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(Job { block, is_last, answer }) = job else { return };
                    // Whoever asked may have given up.
                    let _ = answer.send(deflate(&mut compress, &block, is_last));
                }
            }
        };
        let threads =
            (0..count).map(|_| Builder::new().name("abx-gzip".into()).spawn(work(Arc::clone(&queue))));
        Ok(Self { threads: threads.collect::<io::Result<_>>()?, jobs: Some(jobs) })
    }

    fn submit(&self, job: Job) -> io::Result<()> {
        let gone = || io::Error::other("the compressing threads are gone");
        self.jobs.as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// One block, up to a whole number of bytes, so that the next one can follow.
fn deflate(compress: &mut Compress, block: &[u8], is_last: bool) -> Vec<u8> {
    compress.reset();
    let flush = if is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    let mut packed = Vec::with_capacity(block.len() / 2 + 1024);
    loop {
        let (taken, room) = (compress.total_in() as usize, packed.capacity() - packed.len());
        // Fails for streams with a dictionary only.
        let _ = compress.compress_vec(&block[taken..], &mut packed, flush);
        let is_whole = compress.total_in() as usize == block.len() && packed.len() < packed.capacity();
        if is_whole {
            return packed;
        }
        packed.reserve(room.max(block.len() / 4) + 1024);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut gzip = Gzip::new(Vec::new(), Compression::new(6)).expect("start");
        gzip.write_all(plain).expect("write");
        gzip.finish().expect("finish")
    }

    #[test]
    fn any_reader_gets_back_what_went_in() {
        let mut state = 7_u64;
        let mut noise = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let random: Vec<u8> = (0..3 * BLOCK + 17).map(&mut noise).collect();
        let zeros = vec![0; 2 * BLOCK];
        for plain in [&b""[..], b"a", &random, &zeros, &random[..BLOCK], &random[..BLOCK + 1]] {
            let packed = packed(plain);
            let mut unpacked = Vec::new();
            // Of one member only, so a second one would be missed.
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).expect("read");
            assert!(unpacked == plain, "{} bytes", plain.len());
        }
        assert_eq!(packed(&random), packed(&random));
    }
}
