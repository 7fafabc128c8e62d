//! The reading end of a kernel's output.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

const CHUNK: usize = 32 << 10;

/// Text of one output. Characters that a read cuts are kept for the next.
#[derive(Debug)]
pub(super) struct Pipe {
    descriptor: AsyncFd<OwnedFd>,
    rest: std::cell::RefCell<Vec<u8>>,
}

impl Pipe {
    pub(super) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&descriptor, true)?;
        // SAFETY: an owned descriptor stays open, and the same, until the registration is dropped with it.
        let descriptor = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }?;
        Ok(Self { descriptor, rest: std::cell::RefCell::default() })
    }

    /// Waits for text; `None` once every writer is gone. May be dropped and called again.
    pub(super) async fn read(&self) -> Option<String> {
        let read = self.descriptor.async_io(Interest::READABLE, |descriptor| Ok(read(descriptor)?));
        let bytes = read.await.ok().filter(|bytes| !bytes.is_empty())?;
        Some(self.text(bytes))
    }

    /// What is there right now.
    pub(super) fn read_now(&self) -> Option<String> {
        read(self.descriptor.get_ref()).ok().filter(|bytes| !bytes.is_empty()).map(|bytes| self.text(bytes))
    }

    fn text(&self, bytes: Vec<u8>) -> String {
        let mut rest = self.rest.borrow_mut();
        rest.extend(bytes);
        let whole = rest.len() - cut_character(&rest);
        let text = String::from_utf8_lossy(&rest[..whole]).into_owned();
        rest.drain(..whole);
        text
    }
}

/// How many bytes at the end are the beginning of a character.
fn cut_character(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

fn read(descriptor: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; CHUNK];
    loop {
        match rustix::io::read(descriptor.as_fd(), &mut buffer[..]) {
            Err(Errno::INTR) => {}
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut() {
        let rows: [(&[u8], usize); 7] = [
            (b"abc", 0),
            (b"", 0),
            ("ä".as_bytes(), 0),
            (&"ä".as_bytes()[..1], 1),
            (&"€".as_bytes()[..2], 2),
            (&"😀".as_bytes()[..3], 3),
            (b"\xff\x80\x80\x80", 0),
        ];
        for (bytes, cut) in rows {
            assert_eq!(cut_character(bytes), cut, "{bytes:?}");
        }
    }
}
