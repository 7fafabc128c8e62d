//! The service for a sandbox without Python: executables alone, `GET /health`, `GET /commands`, `POST /commands/{name}`.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::path::Path;
use std::rc::Rc;

use abx_protocol::private::COMMANDS_PORT;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::executable::{self, Executable};
use super::{TOKEN, arguments, call};
use crate::guest::Guest;
use crate::http::access::same;
use crate::http::error::json as answer;
use crate::http::{Body, HttpError};

/// Where images keep what their templates bring.
const KEPT: &str = "/usr/local/share/abx";
const POLICY_FILE: &str = "/etc/agent-sandbox/server-policy.json";
const LONGEST_BODY: usize = 10 << 20;

/// Begins to serve. It goes on for as long as the sandbox lives.
///
/// # Errors
/// 404 where the template's commands or its policy need Python, 500 where a description is wrong.
pub(super) async fn start(guest: &Rc<Guest>) -> Result<(), HttpError> {
    let needs = |what: &str| {
        HttpError::new(StatusCode::NOT_FOUND, format!("the sandbox has no python3, which {what} needs"))
    };
    if let Some(file) = commands_file(Path::new(KEPT)) {
        return Err(needs(&file));
    }
    let is_set = |name: &str| guest.settings.borrow().env.iter().any(|(known, _)| known == name);
    if is_set("ABX_SERVER_POLICY") || is_set("ABX_SERVER_POLICY_FILE") || Path::new(POLICY_FILE).exists() {
        return Err(needs("the policy of its commands"));
    }
    let executables = executable::find(Path::new(KEPT))
        .map_err(|message| HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, message))?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, COMMANDS_PORT))
        .await
        .map_err(|error| HttpError::io("cannot listen on port 9000", &error))?;
    tokio::task::spawn_local(serve(listener, guest.clone(), Rc::from(executables)));
    Ok(())
}

fn commands_file(kept: &Path) -> Option<String> {
    let templates = std::fs::read_dir(kept).ok()?.flatten();
    let mut files = templates.map(|template| template.path().join("commands.py"));
    files.find(|file| file.is_file()).map(|file| file.display().to_string())
}

async fn serve(listener: TcpListener, guest: Rc<Guest>, executables: Rc<[Executable]>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::task::spawn_local(connection(stream, guest.clone(), executables.clone()));
            }
            Err(_) => tokio::time::sleep(super::LOOK).await,
        }
    }
}

async fn connection(stream: TcpStream, guest: Rc<Guest>, executables: Rc<[Executable]>) {
    // An answer must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let (guest, executables) = (guest.clone(), executables.clone());
        async move { Ok::<_, Infallible>(route(&guest, &executables, request).await) }
    });
    // A connection that breaks concerns its call alone.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn route(guest: &Rc<Guest>, executables: &[Executable], request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().trim_end_matches('/').to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/health") => answer(StatusCode::OK, &json!({"status": "ok"})),
        _ if !is_known(guest, &request) => {
            let body = json!({"error": "unauthorized", "type": "AuthError", "code": "unauthorized"});
            answer(StatusCode::UNAUTHORIZED, &body)
        }
        (&Method::GET, "/commands") => answer(StatusCode::OK, &json!({"commands": listed(executables)})),
        (&Method::POST, path) if path.starts_with("/commands/") => {
            run(guest, executables, path.trim_start_matches("/commands/"), request.into_body()).await
        }
        _ => refuse(StatusCode::NOT_FOUND, "ValueError", &format!("not found: {path}")),
    }
}

/// The caller shows the token, where the template asks for one.
fn is_known(guest: &Guest, request: &Request<Incoming>) -> bool {
    let settings = guest.settings.borrow();
    let Some((_, token)) = settings.env.iter().rev().find(|(name, _)| name == TOKEN) else { return true };
    let header = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let bearer = header(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    let shown = bearer.or_else(|| header(header::HeaderName::from_static("x-access-token")));
    token.is_empty() || shown.is_some_and(|shown| same(shown.as_bytes(), token.as_bytes()))
}

fn listed(executables: &[Executable]) -> Vec<Value> {
    let one = |each: &Executable| json!({"name": each.name, "args": each.arguments, "description": each.description});
    executables.iter().map(one).collect()
}

async fn run(guest: &Rc<Guest>, executables: &[Executable], name: &str, body: Incoming) -> Response<Body> {
    let Some(executable) = executables.iter().find(|each| each.name == name) else {
        let available: Vec<&str> = executables.iter().map(|each| each.name.as_str()).collect();
        let available = if available.is_empty() { "(none)".to_owned() } else { available.join(", ") };
        let message = format!("Unknown command '{name}'; available: {available}");
        return refuse(StatusCode::NOT_FOUND, "ValueError", &message);
    };
    let given: Map<String, Value> = match Limited::new(body, LONGEST_BODY).collect().await {
        Err(error) => return refuse(StatusCode::PAYLOAD_TOO_LARGE, "ValueError", &error.to_string()),
        Ok(body) => match body.to_bytes() {
            bytes if bytes.is_empty() => Map::new(),
            bytes => match serde_json::from_slice(&bytes) {
                Ok(given) => given,
                Err(error) => {
                    let message = format!("the body is not a JSON object: {error}");
                    return refuse(StatusCode::BAD_REQUEST, "ValueError", &message);
                }
            },
        },
    };
    let values = match arguments::coerced(&executable.arguments, &given) {
        Ok(values) => values,
        Err((kind, message)) => return refuse(StatusCode::BAD_REQUEST, kind, &message),
    };
    match call::call(guest, executable, &values).await {
        Ok(value) => answer(StatusCode::OK, &json!({"result": value})),
        Err(call::Failure { kind, message }) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &kind, &message),
    }
}

fn refuse(status: StatusCode, kind: &str, message: &str) -> Response<Body> {
    answer(status, &json!({"error": message, "type": kind}))
}
