//! Jupyter's messages: signed JSON in frames.
//!
//! ```text
//! [routing ids …] "<IDS|MSG>" signature header parent_header metadata content [buffers …]
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use abx_protocol::json::Timestamp;
use bytes::Bytes;
use hmac::{Hmac, Mac};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::Sha256;

const DELIMITER: &[u8] = b"<IDS|MSG>";

/// Signs and checks the messages of one kernel.
#[derive(Debug)]
pub(crate) struct Session {
    key: String,
    id: String,
    sent: u64,
}

/// A message of the kernel.
#[derive(Debug, PartialEq)]
pub(crate) struct Incoming {
    pub(crate) kind: String,
    /// Id of the request it belongs to.
    pub(crate) parent: String,
    pub(crate) content: Value,
}

impl Session {
    pub(crate) fn new(key: String) -> Self {
        Self { key, id: random_hex(), sent: 0 }
    }

    /// The frames of a request, and its id.
    pub(crate) fn request(&mut self, kind: &str, content: &Value) -> (String, Vec<Bytes>) {
        self.sent += 1;
        let id = format!("{}_{}", self.id, self.sent);
        let header = json!({
            "msg_id": id, "session": self.id, "username": "abx", "date": now(),
            "msg_type": kind, "version": "5.3",
        });
        let parts = [header.to_string(), "{}".to_owned(), "{}".to_owned(), content.to_string()];
        let signature = self.signature(parts.iter().map(String::as_bytes));
        let mut frames = vec![Bytes::from_static(DELIMITER), Bytes::from(signature)];
        frames.extend(parts.map(Bytes::from));
        (id, frames)
    }

    /// What the frames say; `None` where they are no message, or one of somebody else.
    pub(crate) fn read(&self, frames: &[Bytes]) -> Option<Incoming> {
        #[derive(Deserialize)]
        struct Header {
            msg_type: String,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Parent {
            msg_id: String,
        }
        let start = frames.iter().position(|frame| frame == DELIMITER)?;
        let [signature, header, parent, metadata, content, ..] = frames.get(start + 1..)? else {
            return None;
        };
        let expect = self.signature([header, parent, metadata, content].map(|part| &part[..]).into_iter());
        if expect != signature[..] {
            return None;
        }
        let header: Header = serde_json::from_slice(header).ok()?;
        let parent: Parent = serde_json::from_slice(parent).ok()?;
        let content = serde_json::from_slice(content).ok()?;
        Some(Incoming { kind: header.msg_type, parent: parent.msg_id, content })
    }

    fn signature<'a>(&self, parts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
        if self.key.is_empty() {
            return Vec::new();
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(self.key.as_bytes()).expect("keys have any length");
        parts.for_each(|part| mac.update(part));
        mac.finalize().into_bytes().iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
    }
}

/// 32 digits that nobody can guess.
pub(crate) fn random_hex() -> String {
    let mut bytes = [0_u8; 16];
    // SAFETY: the buffer is as long as said.
    let filled = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    assert_eq!(filled, 16, "the kernel always has so few random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Kernels read six digits and no more.
    let nanos = elapsed.subsec_micros() * 1000;
    Timestamp { seconds: elapsed.as_secs().cast_signed(), nanos: nanos.cast_signed() }.to_rfc3339(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(session: &mut Session) -> Vec<Bytes> {
        let (_, frames) = session.request("status", &json!({"execution_state": "idle"}));
        let mut all = vec![Bytes::from_static(b"topic")];
        all.extend(frames);
        all
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let mut session = Session::new("key".into());
        let incoming = session.request("x", &Value::Null);
        assert!(incoming.0.ends_with("_1"));
        let read = session.read(&frames(&mut Session::new("key".into()))).expect("ours");
        assert_eq!(read.kind, "status");
        assert_eq!(read.content["execution_state"], "idle");
    }

    #[test]
    fn one_that_is_not_signed_so_is_none() {
        let session = Session::new("key".into());
        assert_eq!(session.read(&frames(&mut Session::new("other".into()))), None);
        let mut changed = frames(&mut Session::new("key".into()));
        changed[6] = Bytes::from_static(b"{}");
        assert_eq!(session.read(&changed), None);
        for broken in [&changed[..3], &[][..]] {
            assert_eq!(session.read(broken), None);
        }
    }

    #[test]
    fn signatures_are_those_of_the_standard() {
        let signature =
            Session::new("Jefe".into()).signature([b"what do ya want ", &b"for nothing?"[..]].into_iter());
        assert_eq!(signature, b"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
