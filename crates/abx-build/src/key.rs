//! Keys of steps: digests over everything that a step's result depends on.

use abx_image::LayerId;
use sha2::{Digest, Sha256};

/// Takes fields in order. Each is framed by its length, so that no two lists of fields give the same bytes.
#[derive(Clone)]
pub(crate) struct Hasher(Sha256);

impl Hasher {
    pub(crate) fn new(purpose: &str) -> Self {
        Self(Sha256::new()).field(purpose)
    }

    pub(crate) fn field(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.field(number.to_le_bytes())
    }

    /// A list, framed by its length as well.
    pub(crate) fn list<T: AsRef<[u8]>>(self, items: impl ExactSizeIterator<Item = T>) -> Self {
        let counted = self.number(items.len() as u64);
        items.fold(counted, Self::field)
    }

    pub(crate) fn env(self, env: &[(String, String)]) -> Self {
        let counted = self.number(env.len() as u64);
        env.iter().fold(counted, |hasher, (name, value)| hasher.field(name).field(value))
    }

    pub(crate) fn hex(self) -> String {
        hex(&self.0.finalize())
    }

    pub(crate) fn layer(self) -> LayerId {
        LayerId(self.hex())
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
