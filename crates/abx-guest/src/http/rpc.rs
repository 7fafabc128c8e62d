//! Connect calls: unary, server-streaming and client-streaming.

use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use abx_protocol::connect::{CallError, Codec, ErrorCode};
use abx_protocol::envelope::{self, Frame, FrameDecoder, MAX_FRAME};
use bytes::Bytes;
use futures_util::stream::Stream;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use prost::Message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::Body;
use super::access::basic_user;
use crate::guest::Guest;
use crate::users::User;

/// A stream that is idle for this long gets a keepalive, unless the caller asks for another interval.
const KEEPALIVE: Duration = Duration::from_secs(90);
/// How long the end of a request is awaited that holds nothing of interest any more.
const DRAIN: Duration = Duration::from_millis(250);
/// Longer wishes are no different from none, and clocks overflow.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// What a call's headers say.
pub(crate) struct Call {
    pub(crate) codec: Codec,
    pub(crate) deadline: Option<Instant>,
    pub(crate) keepalive: Duration,
    user: Option<String>,
}

impl Call {
    fn new(codec: Codec, headers: &HeaderMap) -> Self {
        let number = |name| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
        let timeout = number("connect-timeout-ms").filter(|millis| *millis > 0).map(Duration::from_millis);
        Self {
            codec,
            deadline: timeout.map(|timeout| Instant::now() + timeout.min(LONGEST)),
            keepalive: number("keepalive-ping-interval")
                .filter(|seconds| *seconds > 0)
                .map_or(KEEPALIVE, |seconds| Duration::from_secs(seconds).min(LONGEST)),
            user: basic_user(headers),
        }
    }

    /// The caller's user, or the default one.
    pub(crate) fn user(&self, guest: &Guest) -> Result<User, CallError> {
        guest
            .user(self.user.as_deref())
            .map_err(|error| CallError::new(ErrorCode::Unauthenticated, error.to_string()))
    }
}

/// A message: encodable both ways.
pub(crate) trait Wire: Message + Serialize + DeserializeOwned + Default {}
impl<M: Message + Serialize + DeserializeOwned + Default> Wire for M {}

/// Serves a call of one message each way.
pub(crate) async fn unary<Q: Wire, A: Wire>(
    request: Request<Incoming>,
    serve: impl AsyncFnOnce(Call, Q) -> Result<A, CallError>,
) -> Response<Body> {
    let Some(codec) = content_type(&request).and_then(Codec::of_unary) else { return unsupported() };
    let call = Call::new(codec, request.headers());
    let answer = async {
        let bytes = collect(request.into_body()).await?;
        let question = codec.decode(&bytes).map_err(invalid)?;
        serve(call, question).await
    };
    match answer.await {
        Ok(answer) => respond(StatusCode::OK, codec.unary_type(), codec.to_bytes(&answer).into()),
        Err(error) => refuse(&error),
    }
}

/// Serves a call of one message that is answered by many. An error before the first of them is the
/// stream's only frame.
pub(crate) async fn server_stream<Q: Wire, S: Stream<Item = Bytes> + 'static>(
    request: Request<Incoming>,
    serve: impl AsyncFnOnce(Call, Q) -> Result<S, CallError>,
) -> Response<Body> {
    let Some(codec) = content_type(&request).and_then(Codec::of_stream) else { return unsupported() };
    let call = Call::new(codec, request.headers());
    let mut messages = Messages::new(codec, request.into_body());
    let answer = async {
        let question = messages
            .next()
            .await?
            .ok_or_else(|| CallError::new(ErrorCode::InvalidArgument, "the request holds no message"))?;
        messages.drain().await;
        serve(call, question).await
    };
    let body = match answer.await {
        Ok(stream) => Body::stream(stream),
        Err(error) => envelope::end(Err(&error)).into(),
    };
    respond(StatusCode::OK, codec.stream_type(), body)
}

/// Serves a call of many messages that is answered by one.
pub(crate) async fn client_stream<Q: Wire, A: Wire>(
    request: Request<Incoming>,
    serve: impl AsyncFnOnce(&mut Messages<Q>) -> Result<A, CallError>,
) -> Response<Body> {
    let Some(codec) = content_type(&request).and_then(Codec::of_stream) else { return unsupported() };
    let mut wire = Vec::new();
    let mut messages = Messages::new(codec, request.into_body());
    let answer = serve(&mut messages).await;
    messages.drain().await;
    match answer {
        Ok(answer) => {
            wire.extend_from_slice(&envelope::message(codec, &answer));
            wire.extend_from_slice(&envelope::end(Ok(())));
        }
        Err(error) => wire.extend_from_slice(&envelope::end(Err(&error))),
    }
    respond(StatusCode::OK, codec.stream_type(), Bytes::from(wire).into())
}

/// The messages of a streaming request, as they arrive.
pub(crate) struct Messages<M> {
    codec: Codec,
    body: Incoming,
    decoder: FrameDecoder,
    ended: bool,
    message: PhantomData<M>,
}

impl<M: Wire> Messages<M> {
    fn new(codec: Codec, body: Incoming) -> Self {
        Self { codec, body, decoder: FrameDecoder::default(), ended: false, message: PhantomData }
    }

    /// The next message; `None` at the end, whether it is marked or the body just ends.
    pub(crate) async fn next(&mut self) -> Result<Option<M>, CallError> {
        loop {
            match self.decoder.next_frame().map_err(invalid)? {
                Some(Frame::Message(payload)) => {
                    return self.codec.decode(&payload).map(Some).map_err(invalid);
                }
                Some(Frame::End(_)) => return Ok(None),
                None if self.ended && self.decoder.is_empty() => return Ok(None),
                None if self.ended => return Err(invalid("the request ends within a frame")),
                None => {}
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.decoder.push(&bytes);
                    }
                }
                Some(Err(error)) => return Err(CallError::new(ErrorCode::Canceled, error.to_string())),
                None => self.ended = true,
            }
        }
    }
}

impl<M> Messages<M> {
    /// Reads what is left of the request: a connection with unread bytes cannot be used again, and closing it
    /// may lose the answer. A caller that does not come to its end is not waited for.
    async fn drain(&mut self) {
        let rest = async {
            let mut budget = MAX_FRAME;
            while let Some(Ok(frame)) = self.body.frame().await {
                budget = budget.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
                if budget == 0 {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN, rest).await;
    }
}

async fn collect(body: Incoming) -> Result<Bytes, CallError> {
    let collected = Limited::new(body, MAX_FRAME).collect().await;
    collected
        .map(|collected| collected.to_bytes())
        .map_err(|error| CallError::new(ErrorCode::InvalidArgument, format!("unreadable request: {error}")))
}

fn content_type(request: &Request<Incoming>) -> Option<&str> {
    request.headers().get(header::CONTENT_TYPE)?.to_str().ok()
}

fn invalid(error: impl std::fmt::Display) -> CallError {
    CallError::new(ErrorCode::InvalidArgument, format!("malformed message: {error}"))
}

/// A failed file operation.
pub(crate) fn io_error(what: &str, error: &io::Error) -> CallError {
    use io::ErrorKind;
    let code = match error.kind() {
        ErrorKind::NotFound => ErrorCode::NotFound,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => ErrorCode::PermissionDenied,
        ErrorKind::AlreadyExists => ErrorCode::AlreadyExists,
        ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::InvalidInput
        | ErrorKind::InvalidFilename => ErrorCode::InvalidArgument,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ErrorCode::ResourceExhausted,
        _ => ErrorCode::Internal,
    };
    CallError::new(code, format!("{what}: {error}"))
}

/// The answer of a failed unary call.
pub(crate) fn refuse(error: &CallError) -> Response<Body> {
    let status = StatusCode::from_u16(error.code.http_status()).expect("a status of the table");
    super::error::json(status, error)
}

fn unsupported() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    response.headers_mut().insert(
        "accept-post",
        HeaderValue::from_static(
            "application/json, application/proto, application/connect+json, application/connect+proto",
        ),
    );
    response
}

fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
