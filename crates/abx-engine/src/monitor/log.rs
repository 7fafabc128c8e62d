//! The log of the startup command, kept within bounds: what a sandbox prints must not fill the host's disk.
//!
//! The daemon inside writes to a pipe, never to a file of the host. What is old goes by punching holes into the
//! beginning of the file: it keeps growing in length, not in size, and whoever follows it need not open it anew.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::sleep;

/// Bytes of the log that are kept at least.
const KEPT: u64 = 8 << 20;
/// Bytes that are let go at once.
const STRIDE: u64 = 1 << 20;
/// Bytes that are taken over at once, and the pause after it: some 13 MB/s, however fast the sandbox prints.
const PIECE: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(5);

/// The host's end of a sandbox's log.
pub(super) struct Log {
    pipe: OwnedFd,
    file: File,
}

impl Log {
    /// Makes the file, or goes on with it, and the pipe's other end for the daemon inside.
    pub(super) fn new(path: &Path) -> io::Result<(Self, OwnedFd)> {
        let (pipe, inside) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.seek(io::SeekFrom::End(0))?;
        Ok((Self { pipe, file }, inside))
    }

    /// Takes over what is printed until nobody can print any more.
    pub(super) async fn take_over(mut self) -> io::Result<()> {
        let mut pipe = Receiver::from_owned_fd(self.pipe)?;
        let mut piece = vec![0; PIECE];
        loop {
            let length = pipe.read(&mut piece).await?;
            if length == 0 {
                return Ok(());
            }
            append(&mut self.file, &piece[..length])?;
            sleep(PAUSE).await;
        }
    }
}

/// # Errors
/// Fails once the log is full on a disk that cannot let go of its beginning; what comes later is lost then.
fn append(file: &mut File, piece: &[u8]) -> io::Result<()> {
    let before = file.stream_position()?;
    // A full disk loses this piece; there may be room for the next.
    let _ = file.write_all(piece);
    let gone = |length: u64| length.saturating_sub(KEPT) / STRIDE * STRIDE;
    let end = gone(file.stream_position()?);
    if end > gone(before) {
        fallocate(&*file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, end)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn a_log_that_grows_for_ever_takes_a_bounded_part_of_the_disk() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("log.jsonl");
        let mut file = File::create_new(&path).expect("create");
        let piece = vec![b'x'; PIECE];
        let pieces = 4 * KEPT / PIECE as u64;
        for _ in 0..pieces {
            append(&mut file, &piece).expect("append");
        }
        let metadata = path.metadata().expect("metadata");
        assert_eq!(metadata.len(), 4 * KEPT);
        assert!(metadata.blocks() * 512 <= KEPT + 2 * STRIDE, "{} blocks", metadata.blocks());
        let mut last = vec![0; PIECE];
        let read = File::open(&path).expect("open").read_at(&mut last, 4 * KEPT - PIECE as u64);
        assert_eq!((read.expect("read"), last), (PIECE, piece));
    }

    #[tokio::test]
    async fn what_is_printed_lands_in_the_file() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("log.jsonl");
        let (log, inside) = Log::new(&path).expect("log");
        let mut inside = File::from(inside);
        inside.write_all(b"{}\n").expect("print");
        drop(inside);
        log.take_over().await.expect("until the end");
        assert_eq!(std::fs::read(&path).expect("read"), b"{}\n");
    }
}
