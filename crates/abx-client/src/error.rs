//! What can go wrong with a call.

use std::io;
use std::path::PathBuf;

use abx_core::{Code, Fault};
use abx_protocol::connect::{CallError, ErrorCode};
use thiserror::Error;

/// A failed call.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody listens on the socket, or it is not there.
    #[error("cannot reach the sandbox's daemon at {}", socket.display())]
    Unreachable { socket: PathBuf, source: io::Error },
    /// The connection broke in the middle of a call: the sandbox ended, usually.
    #[error("the sandbox went away during {call}")]
    Gone { call: &'static str, source: Option<hyper::Error> },
    /// The call's time was up; what it started was killed.
    #[error("{call} timed out")]
    Timeout { call: &'static str },
    /// The daemon said no.
    #[error("the sandbox refused {call}: {message}")]
    Refused { call: &'static str, status: u16, message: String },
    /// Nobody listens on the port inside.
    #[error("nobody listens on port {port} in the sandbox")]
    PortClosed { port: u16 },
    /// The program is not in the sandbox.
    #[error("{message}")]
    CommandNotFound { message: String },
    /// The program may not be executed, or is none.
    #[error("{message}")]
    CommandNotExecutable { message: String },
    /// There is no such file in the sandbox.
    #[error("{path} not found in the sandbox: {message}")]
    FileNotFound { path: String, message: String },
    /// The sandbox's file system forbids it.
    #[error("no permission for {path} in the sandbox: {message}")]
    FilePermission { path: String, message: String },
    /// The sandbox's disk is full.
    #[error("no space for {path} in the sandbox: {message}")]
    NoSpace { path: String, message: String },
    /// The caller's own reader or writer failed.
    #[error("transfer of {path} failed on this side")]
    Local { path: String, source: io::Error },
    /// The daemon's answer is not one; it may be another generation.
    #[error("the answer to {call} makes no sense: {what}")]
    Malformed { call: &'static str, what: String },
}

impl ClientError {
    /// The status a shell would give, where a command could not be executed.
    pub fn exit_status(&self) -> Option<u8> {
        match self {
            Self::CommandNotFound { .. } => Some(127),
            Self::CommandNotExecutable { .. } => Some(126),
            _ => None,
        }
    }

    /// From a refusal of `call`, which was about the file `path`, if about any.
    pub(crate) fn refused(call: &'static str, path: Option<&str>, error: CallError) -> Self {
        let message = error.message;
        match (error.code, error.exit_status, path) {
            (_, Some(127), _) => Self::CommandNotFound { message },
            (_, Some(_), _) => Self::CommandNotExecutable { message },
            (ErrorCode::DeadlineExceeded, ..) => Self::Timeout { call },
            (code, _, path) => Self::of_status(call, path, code.http_status(), message),
        }
    }

    /// From an HTTP status.
    pub(crate) fn of_status(call: &'static str, path: Option<&str>, status: u16, message: String) -> Self {
        let Some(path) = path.map(str::to_owned) else { return Self::Refused { call, status, message } };
        match status {
            404 => Self::FileNotFound { path, message },
            403 => Self::FilePermission { path, message },
            429 | 507 => Self::NoSpace { path, message },
            _ => Self::Refused { call, status, message },
        }
    }
}

impl Fault for ClientError {
    fn code(&self) -> Code {
        match self {
            Self::Unreachable { .. } | Self::Gone { .. } | Self::PortClosed { .. } => Code::Unreachable,
            Self::Timeout { .. } => Code::ExecTimeout,
            Self::Refused { .. } | Self::Malformed { .. } => Code::GuestRefused,
            Self::CommandNotFound { .. } | Self::CommandNotExecutable { .. } => Code::Execution,
            Self::FileNotFound { .. } => Code::FileNotFound,
            Self::FilePermission { .. } => Code::FilePermission,
            Self::NoSpace { .. } => Code::FileSize,
            Self::Local { .. } => Code::File,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Unreachable { .. } | Self::Gone { .. } => {
                "`abx list --all` shows whether it ended, and why"
            }
            Self::PortClosed { .. } => "`abx logs` shows what the startup command says",
            Self::NoSpace { .. } => "remove files inside, or create the sandbox with a larger --disk",
            Self::CommandNotFound { .. } => "the program is looked up in the PATH of the sandbox",
            Self::Refused { status: 401, .. } => "check the user's name and the sandbox's access token",
            _ => return Vec::new(),
        };
        vec![hint.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_their_code() {
        let refused = |code, path, exit_status| {
            let error = CallError { code, message: "m".to_owned(), exit_status };
            let error = ClientError::refused("call", path, error);
            (error.code(), error.exit_status())
        };
        let file = Some("/f");
        let rows = [
            (ErrorCode::NotFound, file, None, (Code::FileNotFound, None)),
            (ErrorCode::PermissionDenied, file, None, (Code::FilePermission, None)),
            (ErrorCode::ResourceExhausted, file, None, (Code::FileSize, None)),
            (ErrorCode::NotFound, None, None, (Code::GuestRefused, None)),
            (ErrorCode::Internal, file, None, (Code::GuestRefused, None)),
            (ErrorCode::DeadlineExceeded, None, None, (Code::ExecTimeout, None)),
            (ErrorCode::InvalidArgument, None, Some(127), (Code::Execution, Some(127))),
            (ErrorCode::InvalidArgument, None, Some(126), (Code::Execution, Some(126))),
        ];
        for (code, path, exit_status, expect) in rows {
            assert_eq!(refused(code, path, exit_status), expect, "{code:?} {path:?}");
        }
    }

    #[test]
    fn nobody_there_is_unreachable() {
        let directory = std::env::temp_dir().join("abx-no-such-directory");
        let client = crate::Client::new(directory.join("guest.sock"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let error = runtime.block_on(client.health()).expect_err("nobody listens");
        assert_eq!(error.code(), Code::Unreachable);
        assert!(!error.hints().is_empty());
    }
}
