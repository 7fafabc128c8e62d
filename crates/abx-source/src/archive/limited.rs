//! A reader that ends with an error instead of going on for ever.

use std::io::{self, Read};

/// Too much was read.
#[derive(Debug, thiserror::Error)]
#[error("more than {cap} {what}")]
pub(super) struct OverLimit {
    pub(super) what: &'static str,
    pub(super) cap: u64,
}

/// Yields at most `cap` bytes; one more is an [`OverLimit`].
pub(crate) struct Limited<R> {
    source: R,
    left: u64,
    what: &'static str,
    cap: u64,
}

impl<R> Limited<R> {
    pub(crate) fn new(source: R, cap: u64, what: &'static str) -> Self {
        Self { source, left: cap, what, cap }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        match self.left.checked_sub(count as u64) {
            Some(left) => self.left = left,
            None => return Err(io::Error::other(OverLimit { what: self.what, cap: self.cap })),
        }
        Ok(count)
    }
}
