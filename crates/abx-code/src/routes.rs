//! From a request to its answer.

use std::convert::Infallible;
use std::rc::Rc;

use abx_protocol::code::{ExecuteRequest, NewContext};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contexts::{ContextError, Contexts};
use crate::execution::{self, Cell};
use crate::outlet::Outlet;

/// Bytes of the largest request.
const LARGEST: usize = 32 << 20;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A request that is not served, and what to say.
struct Refusal(StatusCode, String);

impl From<ContextError> for Refusal {
    fn from(error: ContextError) -> Self {
        let status = match error {
            ContextError::Unknown(_) => StatusCode::NOT_FOUND,
            ContextError::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ContextError::Both | ContextError::Directory(_) | ContextError::Language { .. } => {
                StatusCode::BAD_REQUEST
            }
        };
        Self(status, error.to_string())
    }
}

/// Answers. A refusal is an answer too.
pub(crate) async fn route(contexts: &Rc<Contexts>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let answer = match (request.method(), &words[..]) {
        (&Method::GET | &Method::HEAD, ["health"]) => Ok(text(StatusCode::OK, "OK".to_owned())),
        (&Method::POST, ["execute"]) => execute(contexts, request).await,
        (&Method::GET, ["contexts"]) => Ok(json(&contexts.infos())),
        (&Method::POST, ["contexts"]) => create(contexts, request).await,
        (&Method::DELETE, ["contexts", id]) => contexts
            .remove(id)
            .await
            .map(|()| text(StatusCode::NO_CONTENT, String::new()))
            .map_err(Refusal::from),
        (&Method::POST, ["contexts", id, "restart"]) => restart(contexts, id).await,
        _ => Err(Refusal(StatusCode::NOT_FOUND, format!("no such route: {path}"))),
    };
    answer.unwrap_or_else(|Refusal(status, message)| text(status, message))
}

async fn create(contexts: &Contexts, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
    let wanted: NewContext = read(request).await?;
    Ok(json(&contexts.create(&wanted)?.info()))
}

async fn restart(contexts: &Contexts, id: &str) -> Result<Response<Body>, Refusal> {
    contexts.find(id)?.restart().await;
    Ok(text(StatusCode::OK, String::new()))
}

async fn execute(contexts: &Rc<Contexts>, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
    let request: ExecuteRequest = read(request).await?;
    let context = contexts.of(&request)?;
    let cell = Cell {
        code: request.code,
        variables: request.env_vars.unwrap_or_default(),
        installs: contexts.settings.installs() && request.auto_install.unwrap_or(true),
    };
    let (outlet, lines) = Outlet::new();
    let contexts = contexts.clone();
    // It outlives the connection for as long as its kernel needs to stop.
    tokio::task::spawn_local(async move { execution::run(context, &contexts.settings, cell, outlet).await });
    let frames = stream::unfold(lines, |mut lines| async move { Some((lines.recv().await?, lines)) });
    let body = StreamBody::new(frames.map(|line| Ok(Frame::data(line))));
    Ok(answer(StatusCode::OK, "application/x-ndjson", BodyExt::boxed_unsync(body)))
}

/// The request's JSON. Another type is refused: a page in a browser of the sandbox can send it without being asked.
async fn read<T: DeserializeOwned + Default>(request: Request<Incoming>) -> Result<T, Refusal> {
    let refused = |message: String| Refusal(StatusCode::BAD_REQUEST, message);
    let kind =
        request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.trim().to_ascii_lowercase().starts_with("application/json") {
        let message = "the request must be application/json".to_owned();
        return Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body = Limited::new(request.into_body(), LARGEST).collect().await;
    let bytes = body.map_err(|error| refused(error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| refused(format!("the request makes no sense: {error}")))
}

fn json(value: &impl Serialize) -> Response<Body> {
    let bytes = serde_json::to_vec(value).expect("keys are strings");
    answer(StatusCode::OK, "application/json", BodyExt::boxed_unsync(Full::from(bytes)))
}

fn text(status: StatusCode, text: String) -> Response<Body> {
    answer(status, "text/plain; charset=utf-8", BodyExt::boxed_unsync(Full::from(text)))
}

fn answer(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
