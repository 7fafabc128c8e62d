//! One connection per call.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use abx_core::Secret;
use abx_protocol::connect::{CallError, Codec};
use abx_protocol::envelope::{Frame, FrameDecoder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::request::Builder;
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use prost::Message;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::ClientError;

/// Bytes of the longest answer that is taken whole.
const LONGEST_ANSWER: usize = 32 << 20;

/// Messages go over the wire in the encoding that costs least.
pub(crate) const CODEC: Codec = Codec::Proto;

/// Where the daemon is and how it knows us.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) socket: PathBuf,
    pub(crate) token: Option<Secret>,
}

impl Endpoint {
    /// A request with what every request carries.
    pub(crate) fn request(&self, method: Method, target: &str, user: Option<&str>) -> Builder {
        let mut builder = Request::builder().method(method).uri(target).header(header::HOST, "sandbox");
        if let Some(token) = &self.token {
            builder = builder.header("x-access-token", token.expose());
        }
        if let Some(user) = user {
            let credentials = STANDARD.encode(format!("{user}:"));
            builder = builder.header(header::AUTHORIZATION, format!("Basic {credentials}"));
        }
        builder
    }

    /// Sends it over a new connection and returns the answer's head; its body follows at the reader's pace.
    pub(crate) async fn send(
        &self,
        call: &'static str,
        builder: Builder,
        body: RequestBody,
    ) -> Result<Response<Incoming>, ClientError> {
        let request = builder
            .body(body)
            .map_err(|error| ClientError::Malformed { call, what: format!("bad request: {error}") })?;
        let gone = |source| ClientError::Gone { call, source: Some(source) };
        let stream = connect(&self.socket).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(gone)?;
        // The connection's own error reaches us through the request or the body.
        tokio::spawn(async move { drop(connection.with_upgrades().await) });
        sender.send_request(request).await.map_err(gone)
    }

    /// Calls `/service/method` with one message and one answer. `path` is the file it is about, if any.
    pub(crate) async fn unary<A: Message + Default + DeserializeOwned>(
        &self,
        call: &'static str,
        target: &str,
        user: Option<&str>,
        message: &(impl Message + serde::Serialize),
        path: Option<&str>,
    ) -> Result<A, ClientError> {
        let builder = self
            .request(Method::POST, target, user)
            .header(header::CONTENT_TYPE, CODEC.unary_type())
            .header("connect-protocol-version", "1");
        let response = self.send(call, builder, CODEC.to_bytes(message).into()).await?;
        let is_success = response.status().is_success();
        let bytes = collect(call, response.into_body()).await?;
        if !is_success {
            let error: CallError = parse(call, &bytes)?;
            return Err(ClientError::refused(call, path, error));
        }
        CODEC.decode(&bytes).map_err(|error| ClientError::Malformed { call, what: error.to_string() })
    }

    /// Calls a streaming method.
    pub(crate) async fn stream(
        &self,
        call: &'static str,
        builder: Builder,
        body: RequestBody,
    ) -> Result<Frames, ClientError> {
        let builder =
            builder.header(header::CONTENT_TYPE, CODEC.stream_type()).header("connect-protocol-version", "1");
        let response = self.send(call, builder, body).await?;
        if !response.status().is_success() {
            return Err(refusal(call, None, response).await);
        }
        Ok(Frames { call, body: response.into_body(), decoder: FrameDecoder::default() })
    }

    /// Calls a route that answers in JSON.
    pub(crate) async fn json<A: DeserializeOwned>(
        &self,
        call: &'static str,
        builder: Builder,
        body: RequestBody,
        path: Option<&str>,
    ) -> Result<A, ClientError> {
        let response = self.send(call, builder, body).await?;
        if !response.status().is_success() {
            return Err(refusal(call, path, response).await);
        }
        parse(call, &collect(call, response.into_body()).await?)
    }
}

async fn connect(socket: &Path) -> Result<UnixStream, ClientError> {
    crate::socket::connect(socket)
        .await
        .map_err(|source| ClientError::Unreachable { socket: socket.to_owned(), source })
}

/// The error of an answer that is none.
pub(crate) async fn refusal(
    call: &'static str,
    path: Option<&str>,
    response: Response<Incoming>,
) -> ClientError {
    #[derive(serde::Deserialize)]
    struct Refusal {
        message: String,
    }
    let status = response.status();
    let bytes = match collect(call, response.into_body()).await {
        Ok(bytes) => bytes,
        Err(error) => return error,
    };
    let message = match serde_json::from_slice::<Refusal>(&bytes) {
        Ok(refusal) => refusal.message,
        Err(_) => status.to_string(),
    };
    ClientError::of_status(call, path, status.as_u16(), message)
}

/// The whole of an answer, which must not be longer than [`LONGEST_ANSWER`]: who answers may be hostile.
pub(crate) async fn collect(call: &'static str, body: Incoming) -> Result<Bytes, ClientError> {
    let collected = Limited::new(body, LONGEST_ANSWER).collect().await;
    collected.map(|collected| collected.to_bytes()).map_err(|error| match error.downcast::<hyper::Error>() {
        Ok(source) => ClientError::Gone { call, source: Some(*source) },
        Err(error) => ClientError::Malformed { call, what: error.to_string() },
    })
}

fn parse<A: DeserializeOwned>(call: &'static str, bytes: &[u8]) -> Result<A, ClientError> {
    serde_json::from_slice(bytes).map_err(|error| ClientError::Malformed { call, what: error.to_string() })
}

/// The messages of a streaming answer.
#[derive(Debug)]
pub(crate) struct Frames {
    call: &'static str,
    body: Incoming,
    decoder: FrameDecoder,
}

impl Frames {
    /// The next message; `None` at the marked end. A stream that stops without it is an error. May be dropped
    /// and called again without losing anything.
    pub(crate) async fn next<M: Message + Default + DeserializeOwned>(
        &mut self,
    ) -> Result<Option<M>, ClientError> {
        let call = self.call;
        let malformed = |what: String| ClientError::Malformed { call, what };
        loop {
            match self.decoder.next_frame().map_err(|error| malformed(error.to_string()))? {
                Some(Frame::Message(payload)) => {
                    let message = CODEC.decode(&payload);
                    return message.map(Some).map_err(|error| malformed(error.to_string()));
                }
                Some(Frame::End(Ok(()))) => return Ok(None),
                Some(Frame::End(Err(error))) => return Err(ClientError::refused(call, None, error)),
                None => {}
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.decoder.push(&bytes);
                    }
                }
                Some(Err(source)) => return Err(ClientError::Gone { call, source: Some(source) }),
                None => return Err(ClientError::Gone { call, source: None }),
            }
        }
    }
}

/// A request's body: at hand, or to come.
#[derive(Debug)]
pub(crate) enum RequestBody {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<io::Result<Bytes>>),
}

impl RequestBody {
    pub(crate) fn empty() -> Self {
        Self::Whole(None)
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<hyper::body::Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(hyper::body::Frame::data(bytes)))),
            Self::Stream(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| piece.map(hyper::body::Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
