//! Errors of the plain HTTP routes: `{"code": <status>, "message": "…"}`.

use std::io;

use http::{Response, StatusCode, header};

use super::Body;
use crate::users::UnknownUser;

/// A refused request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HttpError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl HttpError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// A failed file operation.
    pub(crate) fn io(what: &str, error: &io::Error) -> Self {
        use io::ErrorKind;
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StatusCode::FORBIDDEN,
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StatusCode::INSUFFICIENT_STORAGE,
            ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidData => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, format!("{what}: {error}"))
    }

    pub(crate) fn response(&self) -> Response<Body> {
        let body = serde_json::json!({ "code": self.status.as_u16(), "message": self.message });
        json(self.status, &body)
    }
}

impl From<UnknownUser> for HttpError {
    fn from(error: UnknownUser) -> Self {
        Self::unauthorized(error.to_string())
    }
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, value: &impl serde::Serialize) -> Response<Body> {
    let bytes = serde_json::to_vec(value).expect("answers have only string keys");
    let mut response = Response::new(Body::from(bytes::Bytes::from(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}
