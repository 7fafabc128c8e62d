//! Calls to the daemon inside a sandbox, over its socket.
//!
//! In: the socket's path and a request. Out: a value, or a stream of events or bytes. In reading order:
//!
//! - [`client`]: the [`Client`] and its small calls,
//! - [`process`]: starting a process, its events, its input,
//! - [`files`]: looking at files, uploads, downloads, whole directories,
//! - [`tunnel`], [`request`]: connections to the ports inside, HTTP to the servers there,
//! - [`commands`]: who answers for named commands,
//! - [`code`]: running code,
//! - [`error`]: what can go wrong,
//! - `transport`: one connection per call.
//!
//! A [`Client`] holds no connection, so it costs nothing to make and to keep; a call connects in some tens of
//! microseconds. Everything runs on any tokio runtime with IO and time, one thread included.
//!
//! # A command's status
//!
//! A program that is not there or cannot be executed fails [`Client::start`] with
//! [`ClientError::CommandNotFound`] (127) or [`ClientError::CommandNotExecutable`] (126); both are the
//! answer of [`ClientError::exit_status`]. On the wire they are `invalid_argument` whose last frame
//! carries the metadata `abx-exit-status`. One that ran ends with an [`Exit`], whose
//! [`Exit::shell_status`] is the code or 128 and the signal.

pub mod client;
pub mod code;
pub mod commands;
pub mod error;
pub mod files;
pub mod process;
pub mod request;
pub mod socket;
mod transport;
pub mod tunnel;

pub use abx_protocol::filesystem::{EntryInfo, FileType};
pub use abx_protocol::private::{
    Activity, ArchiveReport, CommandService, ExecRequest, ExecResponse, Info, ListeningPort, Owner, Startup,
    StartupState,
};
pub use abx_protocol::process::PtySize;
pub use abx_protocol::signal::Exit;
pub use client::Client;
pub use code::CodeEvents;
pub use error::ClientError;
pub use files::Download;
pub use process::{ProcessControl, ProcessEvent, ProcessInput, ProcessRequest, ProcessStream};
pub use tunnel::Tunnel;
