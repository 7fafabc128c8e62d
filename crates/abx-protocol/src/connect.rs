//! Error codes, codecs and the paths of calls in the Connect protocol.

use bytes::{Bytes, BytesMut};
use prost::Message;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Why a call failed, in the protocol's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    Canceled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

impl ErrorCode {
    /// The HTTP status a unary call fails with.
    pub fn http_status(self) -> u16 {
        match self {
            Self::Canceled => 499,
            Self::InvalidArgument | Self::FailedPrecondition | Self::OutOfRange => 400,
            Self::DeadlineExceeded => 504,
            Self::NotFound => 404,
            Self::AlreadyExists | Self::Aborted => 409,
            Self::PermissionDenied => 403,
            Self::ResourceExhausted => 429,
            Self::Unimplemented => 501,
            Self::Unavailable => 503,
            Self::Unauthenticated => 401,
            Self::Unknown | Self::Internal | Self::DataLoss => 500,
        }
    }
}

/// A failed call: the body of a unary error, and the `error` of a stream's last frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallError {
    pub code: ErrorCode,
    #[serde(default)]
    pub message: String,
    /// The status a shell would give where a command could not be executed: 127 not found, 126 not
    /// executable. It travels as the `abx-exit-status` entry of the last frame's metadata.
    #[serde(skip)]
    pub exit_status: Option<u8>,
}

impl CallError {
    /// An error without an exit status.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), exit_status: None }
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CallError {}

/// How messages of one call are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    Json,
    Proto,
}

impl Codec {
    /// From the content type of a unary call.
    pub fn of_unary(content_type: &str) -> Option<Self> {
        match media_type(content_type) {
            "application/json" => Some(Self::Json),
            "application/proto" => Some(Self::Proto),
            _ => None,
        }
    }

    /// From the content type of a streaming call.
    pub fn of_stream(content_type: &str) -> Option<Self> {
        match media_type(content_type) {
            "application/connect+json" => Some(Self::Json),
            "application/connect+proto" => Some(Self::Proto),
            _ => None,
        }
    }

    /// The content type of a unary call.
    pub fn unary_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Proto => "application/proto",
        }
    }

    /// The content type of a streaming call.
    pub fn stream_type(self) -> &'static str {
        match self {
            Self::Json => "application/connect+json",
            Self::Proto => "application/connect+proto",
        }
    }

    /// Decodes one message. An empty JSON body is the empty message.
    pub fn decode<M: Message + Default + DeserializeOwned>(self, bytes: &[u8]) -> Result<M, DecodeError> {
        match self {
            Self::Json if bytes.is_empty() => Ok(M::default()),
            Self::Json => serde_json::from_slice(bytes).map_err(|error| DecodeError(error.to_string())),
            Self::Proto => M::decode(bytes).map_err(|error| DecodeError(error.to_string())),
        }
    }

    /// Encodes one message at the end of `buffer`.
    pub fn encode<M: Message + Serialize>(self, message: &M, buffer: &mut BytesMut) {
        match self {
            Self::Json => {
                use bytes::BufMut;
                serde_json::to_writer(buffer.writer(), message).expect("messages have only string keys");
            }
            Self::Proto => message.encode(buffer).expect("a BytesMut grows"),
        }
    }

    /// Encodes one message.
    pub fn to_bytes<M: Message + Serialize>(self, message: &M) -> Bytes {
        let mut buffer = BytesMut::new();
        self.encode(message, &mut buffer);
        buffer.freeze()
    }
}

fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// A message that is not one; the text is the decoder's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError(String);

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DecodeError {}
