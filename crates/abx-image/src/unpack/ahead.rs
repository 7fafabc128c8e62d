//! Decompressing on a thread of its own, ahead of whoever writes the files.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::compression::decompress;
use crate::Digest;
use crate::digest::Hashing;

/// What is handed over at a time.
const BLOCK: usize = 256 << 10;

/// Blocks that are ahead: what bounds memory.
const AHEAD: usize = 8;

/// The plain bytes, as they are needed.
pub(super) struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
}

/// The two ends: what [`run`] is given, and what is read.
pub(super) fn ends() -> (SyncSender<io::Result<Vec<u8>>>, Ahead) {
    let (sender, blocks) = sync_channel(AHEAD);
    (sender, Ahead { blocks, block: Vec::new(), at: 0 })
}

/// Decompresses `stream` to its end, or until nobody reads any more. Returns the digest and the number of the plain
/// bytes.
pub(super) fn run(stream: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>) -> (Digest, u64) {
    let mut plain = match decompress(stream) {
        Ok(plain) => Hashing::new(plain),
        Err(error) => {
            let _ = sender.send(Err(error));
            return (Digest::of(b""), 0);
        }
    };
    loop {
        let mut block = Vec::with_capacity(BLOCK);
        let read = plain.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        let is_end = block.is_empty();
        // What came before a fault counts.
        let gone = !is_end && sender.send(Ok(block)).is_err();
        if let Err(error) = read {
            let _ = sender.send(Err(error));
        } else if !is_end && !gone {
            continue;
        }
        let (_, digest, bytes) = plain.finish();
        return (digest, bytes);
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            match self.blocks.recv() {
                Ok(block) => (self.block, self.at) = (block?, 0),
                Err(_) => return Ok(0),
            }
        }
        let count = buffer.len().min(self.block.len() - self.at);
        buffer[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}
