//! The frames of a streaming call.
//!
//! ```text
//! ┌──────┬──────────────┬─────────────┐
//! │ flag │ length (BE)  │ payload     │   flag 0: a message
//! │ 1 B  │ 4 B          │ length B    │   flag 2: the end, `{}` or `{"error":{…},"metadata":{…}}` in JSON
//! └──────┴──────────────┴─────────────┘
//! ```

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::connect::{CallError, Codec};

/// A frame whose payload is longer than this is refused.
pub const MAX_FRAME: usize = 64 << 20;

const HEADER: usize = 5;
const COMPRESSED: u8 = 0x01;
const END: u8 = 0x02;
const EXIT_STATUS: &str = "abx-exit-status";

/// A frame that cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The sender compressed although nothing was negotiated.
    Compressed,
    /// The announced length is over [`MAX_FRAME`].
    TooLong(usize),
    /// The last frame's JSON is damaged.
    BadEnd(String),
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Compressed => f.write_str("compressed frame without negotiated compression"),
            Self::TooLong(length) => write!(f, "frame of {length} bytes is over the limit of {MAX_FRAME}"),
            Self::BadEnd(text) => write!(f, "damaged end of stream: {text}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// One decoded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An encoded message.
    Message(Bytes),
    /// The end: success, or why not.
    End(Result<(), CallError>),
}

/// Cuts a byte stream into frames, wherever its pieces begin and end.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: BytesMut,
}

impl FrameDecoder {
    /// Adds bytes as they arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Whether bytes of an unfinished frame are left.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next whole frame; `None` when more bytes are needed.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(header) = self.buffer.first_chunk::<HEADER>() else { return Ok(None) };
        let [flags, length @ ..] = *header;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_FRAME {
            return Err(FrameError::TooLong(length));
        }
        if flags & COMPRESSED != 0 {
            return Err(FrameError::Compressed);
        }
        if self.buffer.len() < HEADER + length {
            self.buffer.reserve(HEADER + length - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let payload = self.buffer.split_to(length).freeze();
        if flags & END == 0 {
            return Ok(Some(Frame::Message(payload)));
        }
        decode_end(&payload).map(|end| Some(Frame::End(end)))
    }
}

/// A message as one frame.
pub fn message<M: Message + Serialize>(codec: Codec, message: &M) -> Bytes {
    let mut buffer = match codec {
        Codec::Proto => BytesMut::with_capacity(HEADER + message.encoded_len()),
        Codec::Json => BytesMut::with_capacity(256),
    };
    buffer.put_bytes(0, HEADER);
    codec.encode(message, &mut buffer);
    let length = (buffer.len() - HEADER) as u32;
    buffer[1..HEADER].copy_from_slice(&length.to_be_bytes());
    buffer.freeze()
}

/// The last frame of a stream.
pub fn end(result: Result<(), &CallError>) -> Bytes {
    let end = match result {
        Ok(()) => EndOfStream::default(),
        Err(error) => EndOfStream {
            error: Some(error.clone()),
            metadata: error
                .exit_status
                .map(|status| (EXIT_STATUS.to_owned(), vec![status.to_string()]))
                .into_iter()
                .collect(),
        },
    };
    let payload = serde_json::to_vec(&end).expect("strings only");
    let mut buffer = BytesMut::with_capacity(HEADER + payload.len());
    buffer.put_u8(END);
    buffer.put_u32(payload.len() as u32);
    buffer.put_slice(&payload);
    buffer.freeze()
}

#[derive(Default, Serialize, Deserialize)]
struct EndOfStream {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<CallError>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, Vec<String>>,
}

fn decode_end(payload: &[u8]) -> Result<Result<(), CallError>, FrameError> {
    let end: EndOfStream = if payload.is_empty() {
        EndOfStream::default()
    } else {
        serde_json::from_slice(payload).map_err(|error| FrameError::BadEnd(error.to_string()))?
    };
    let Some(mut error) = end.error else { return Ok(Ok(())) };
    let status = end.metadata.get(EXIT_STATUS).and_then(|values| values.first());
    error.exit_status = status.and_then(|status| status.parse().ok());
    Ok(Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect::ErrorCode;
    use crate::process::{ProcessEvent, StartResponse};

    #[test]
    fn frames_survive_any_cut() {
        let sent = StartResponse { event: Some(ProcessEvent::stdout(Bytes::from_static(b"\xff\0hello"))) };
        for codec in [Codec::Json, Codec::Proto] {
            let mut wire = message(codec, &sent).to_vec();
            wire.extend_from_slice(&end(Ok(())));
            for cut in 0..wire.len() {
                let mut decoder = FrameDecoder::default();
                let mut frames = Vec::new();
                for piece in [&wire[..cut], &wire[cut..]] {
                    decoder.push(piece);
                    while let Some(frame) = decoder.next_frame().expect("sound frames") {
                        frames.push(frame);
                    }
                }
                let [Frame::Message(payload), Frame::End(Ok(()))] = &frames[..] else {
                    panic!("{codec:?} cut at {cut}: {frames:?}")
                };
                assert_eq!(codec.decode::<StartResponse>(payload).expect("a message"), sent);
                assert!(decoder.is_empty());
            }
        }
    }

    #[test]
    fn an_error_keeps_its_exit_status() {
        let mut error = CallError::new(ErrorCode::InvalidArgument, "no such program");
        error.exit_status = Some(127);
        let mut decoder = FrameDecoder::default();
        decoder.push(&end(Err(&error)));
        assert_eq!(decoder.next_frame(), Ok(Some(Frame::End(Err(error)))));
    }

    #[test]
    fn hostile_frames_are_refused() {
        let cases: [(&[u8], FrameError); 3] = [
            (b"\x00\xff\xff\xff\xff", FrameError::TooLong(0xffff_ffff)),
            (b"\x01\x00\x00\x00\x01x", FrameError::Compressed),
            (
                b"\x02\x00\x00\x00\x01{",
                FrameError::BadEnd("EOF while parsing an object at line 1 column 1".to_owned()),
            ),
        ];
        for (wire, expect) in cases {
            let mut decoder = FrameDecoder::default();
            decoder.push(wire);
            assert_eq!(decoder.next_frame(), Err(expect));
        }
    }

    #[test]
    fn noise_is_refused_and_never_a_panic() {
        let mut state = 1_u64;
        for length in 0..2000 {
            let noise: Vec<u8> = (0..length % 97)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Small numbers make likely flags and lengths.
                    (state >> 33) as u8 & if length % 2 == 0 { 0x07 } else { 0xff }
                })
                .collect();
            let mut decoder = FrameDecoder::default();
            decoder.push(&noise);
            while let Ok(Some(frame)) = decoder.next_frame() {
                if let Frame::Message(payload) = frame {
                    let _ = Codec::Proto.decode::<StartResponse>(&payload);
                    let _ = Codec::Json.decode::<StartResponse>(&payload);
                }
            }
        }
    }
}
