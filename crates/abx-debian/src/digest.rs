//! What a file of the archive must be: its size and SHA-256.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 and size a signed file says something has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// 64 lower-case hexadecimal digits, so that it is safe as a file name.
    sha256: String,
    pub size: u64,
}

impl Checksum {
    /// `None` where `sha256` is not a digest.
    pub fn new(sha256: &str, size: u64) -> Option<Self> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (sha256.len() == 64 && sha256.bytes().all(hex)).then(|| Self { sha256: sha256.to_owned(), size })
    }

    /// The digest in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// What `bytes` are.
    pub fn of(bytes: &[u8]) -> Self {
        Self { sha256: sha256_hex(bytes), size: bytes.len() as u64 }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{} ({} bytes)", self.sha256, self.size)
    }
}

/// Counts and digests a stream.
#[derive(Clone, Default)]
pub(crate) struct Checksummer {
    hasher: Sha256,
    size: u64,
}

impl Checksummer {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn finish(self) -> Checksum {
        Checksum { sha256: hex(&self.hasher.finalize()), size: self.size }
    }
}

/// The SHA-256 of `bytes` in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
