//! `sha256:<hex>`: what a blob is named by.

use std::fmt::{self, Write as _};
use std::io::{self, Read, Write};

use sha2::Digest as _;

/// A well-formed `sha256` digest. Other algorithms are not spoken.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(String);

impl Digest {
    /// Reads `sha256:<64 hexadecimal digits>`.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?;
        well_formed(hex).then(|| Self(hex.to_owned()))
    }

    /// The digest of bytes at hand.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hex(&sha2::Sha256::digest(bytes)))
    }

    /// The 64 digits.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

/// Whether text is 64 lower-case hexadecimal digits, and so safe as a file name.
pub(crate) fn well_formed(id: &str) -> bool {
    id.len() == 64 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Passes bytes through, in either direction, and keeps their digest and number.
pub(crate) struct Hashing<T> {
    inner: T,
    hasher: sha2::Sha256,
    count: u64,
}

impl<T> Hashing<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, hasher: sha2::Sha256::new(), count: 0 }
    }

    /// What was wrapped, the digest of all that went through, and how much that was.
    pub(crate) fn finish(self) -> (T, Digest, u64) {
        (self.inner, Digest(hex(&self.hasher.finalize())), self.count)
    }

    fn passed(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.count += bytes.len() as u64;
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.passed(&buffer[..count]);
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.passed(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_digests_are_read() {
        let good = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(Digest::parse(&good).expect("good").to_string(), good);
        for bad in ["", "sha256:", "sha512:00", "sha256:../../etc/passwd", &good[..70], &good.to_uppercase()]
        {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }
}
