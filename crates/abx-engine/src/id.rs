//! Sandbox ids.

use std::fs::File;
use std::io::Read;

use serde::{Deserialize, Serialize};

/// 20 lower-case letters and digits, the first a letter so that it can stand as a host name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SandboxId(String);

impl SandboxId {
    /// Length in characters.
    pub const LENGTH: usize = 20;

    /// A fresh id from the kernel's random source (about 103 bits).
    pub fn random() -> std::io::Result<Self> {
        const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
        const ALL: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut random = File::open("/dev/urandom")?;
        let mut id = String::with_capacity(Self::LENGTH);
        while id.len() < Self::LENGTH {
            let mut bytes = [0u8; 32];
            random.read_exact(&mut bytes)?;
            for byte in bytes {
                let alphabet = if id.is_empty() { LETTERS } else { ALL };
                // Bytes beyond the largest multiple are passed over: every letter stays equally likely.
                let fair = 256 / alphabet.len() * alphabet.len();
                if usize::from(byte) < fair && id.len() < Self::LENGTH {
                    id.push(char::from(alphabet[usize::from(byte) % alphabet.len()]));
                }
            }
        }
        Ok(Self(id))
    }

    /// Reads an id; `None` where `text` is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let valid = text.len() == Self::LENGTH
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        valid.then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SandboxId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::SandboxId;

    #[test]
    fn random_ids_parse_and_differ() {
        let a = SandboxId::random().expect("random");
        let b = SandboxId::random().expect("random");
        assert_ne!(a, b);
        assert_eq!(SandboxId::parse(a.as_str()), Some(a));
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in ["", "short", "UPPERCASEUPPERCASE12", "../../../../../../aa", "abcdefghijklmnopqrst1"] {
            assert_eq!(SandboxId::parse(text), None, "{text}");
        }
    }
}
