//! The services the daemon inside a sandbox speaks, as values.
//!
//! In: bytes of a frame. Out: messages, and back. Two encodings of each message, JSON and protobuf, come
//! from one struct. In reading order:
//!
//! - [`boot`]: what the host hands the daemon when it starts,
//! - [`connect`]: error codes, codecs and the paths of calls,
//! - [`envelope`]: the frames of a streaming call,
//! - [`process`], [`filesystem`]: the two E2B services, message by message,
//! - [`signal`]: how an exit is put into words, and the words back into numbers,
//! - [`code`]: running code,
//! - [`private`]: our own service, with its generation number,
//! - [`json`]: the JSON forms of protobuf's scalar types.
//!
//! **Architecture Invariant:** no IO, no HTTP, no clock.

pub mod boot;
pub mod code;
pub mod connect;
pub mod envelope;
pub mod filesystem;
pub mod json;
pub mod private;
pub mod process;
pub mod signal;

pub use boot::BootConfig;
pub use connect::{CallError, Codec, ErrorCode};
pub use private::GENERATION;

/// The E2B daemon version whose behaviour the services have.
pub const ENVD_VERSION: &str = "0.6.13";
