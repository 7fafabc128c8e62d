//! From a request to the code that answers it.

use std::convert::Infallible;
use std::rc::Rc;

use abx_protocol::filesystem::{ListDirRequest, MoveRequest, PathRequest, WatchRequest, WatcherId};
use abx_protocol::private;
use abx_protocol::process::{
    CloseStdinRequest, ConnectRequest, ListRequest, SendInputRequest, SendSignalRequest, StartRequest,
    UpdateRequest,
};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;

use super::{Body, HttpError, access, rpc, stream, tunnel};
use crate::activity::Busy;
use crate::files::{archive, compose, download, service as files, upload};
use crate::guest::Guest;
use crate::process::service as processes;
use crate::{code, commands, environment, info, metrics, ports, probe};

/// So much of a body is read from one who may not call.
const STRANGERS_COURTESY: usize = 1 << 20;

/// Answers a request. A refusal is an answer too.
pub(super) async fn route(
    guest: Rc<Guest>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let token = guest.settings.borrow().access_token.clone();
    let allowed = access::check(token.as_deref(), request.method(), request.uri(), request.headers());
    let mut response = match allowed {
        Err(_) if request.method() == http::Method::OPTIONS => preflight(),
        Ok(()) => dispatch(&guest, request).await,
        Err(error) => {
            stream::discard(request.into_body(), STRANGERS_COURTESY).await;
            error.response()
        }
    };
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}

async fn dispatch(guest: &Rc<Guest>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    match (request.method().as_str(), path.as_str()) {
        ("OPTIONS", _) => preflight(),
        ("GET" | "HEAD", "/health") => status(StatusCode::NO_CONTENT),
        ("GET", private::ACTIVITY) => info::activity(guest),
        ("GET", private::INFO) => info::info(guest),
        ("GET", private::STARTUP) => info::startup(guest),
        ("GET", private::PORTS) => ports::ports(),
        ("POST", private::EXEC) => answer(probe::exec(guest, request).await),
        _ => {
            let busy = guest.activity.call();
            used(guest, request, &path, busy).await
        }
    }
}

/// The calls that are a sign of use.
async fn used(guest: &Rc<Guest>, request: Request<Incoming>, path: &str, busy: Busy) -> Response<Body> {
    if request.method() == http::Method::POST {
        if let Some(method) = path.strip_prefix("/process.Process/") {
            return process_call(guest, request, method, busy).await;
        }
        if let Some(method) = path.strip_prefix("/filesystem.Filesystem/") {
            return filesystem_call(guest, request, method, busy).await;
        }
    }
    match (request.method().as_str(), path) {
        ("GET" | "HEAD", "/files") => answer(download::download(guest, &request, busy).await),
        ("POST", "/files") => answer(upload::upload(guest, request).await),
        ("POST", private::CODE) => answer(code::code(guest)),
        ("POST", "/files/compose") => answer(compose::compose(guest, request).await),
        ("GET", private::ARCHIVE) => answer(archive::send(guest, &request, busy)),
        ("PUT", private::ARCHIVE) => answer(archive::receive(guest, request).await),
        ("POST", private::COMMANDS) => answer(commands::ensure(guest).await),
        ("GET", private::TUNNEL) => answer(tunnel::open(request, busy).await),
        ("GET", "/metrics") => metrics::metrics(guest),
        ("GET", "/envs") => environment::envs(guest),
        ("POST", "/init") => answer(environment::init(guest, request).await),
        _ => HttpError::new(StatusCode::NOT_FOUND, format!("no such route: {path}")).response(),
    }
}

async fn process_call(
    guest: &Rc<Guest>,
    request: Request<Incoming>,
    method: &str,
    busy: Busy,
) -> Response<Body> {
    match method {
        "List" => rpc::unary(request, async |_, _: ListRequest| Ok(processes::list(guest))).await,
        "Start" => {
            let serve = async |call, question: StartRequest| processes::start(guest, call, question, busy);
            rpc::server_stream(request, serve).await
        }
        "Connect" => {
            let serve =
                async |call, question: ConnectRequest| processes::connect(guest, call, &question, busy);
            rpc::server_stream(request, serve).await
        }
        "Update" => {
            rpc::unary(request, async |_, question: UpdateRequest| processes::update(guest, &question)).await
        }
        "SendInput" => {
            let serve = async |_, question: SendInputRequest| processes::send_input(guest, question).await;
            rpc::unary(request, serve).await
        }
        "StreamInput" => {
            rpc::client_stream(request, async |messages| processes::stream_input(guest, messages).await).await
        }
        "SendSignal" => {
            let serve = async |_, question: SendSignalRequest| processes::send_signal(guest, &question).await;
            rpc::unary(request, serve).await
        }
        "CloseStdin" => {
            let serve = async |_, question: CloseStdinRequest| processes::close_stdin(guest, &question).await;
            rpc::unary(request, serve).await
        }
        _ => status(StatusCode::NOT_FOUND),
    }
}

async fn filesystem_call(
    guest: &Rc<Guest>,
    request: Request<Incoming>,
    method: &str,
    busy: Busy,
) -> Response<Body> {
    match method {
        "Stat" => {
            rpc::unary(request, async |call, question: PathRequest| files::stat(guest, &call, &question))
                .await
        }
        "MakeDir" => {
            let serve = async |call, question: PathRequest| files::make_dir(guest, &call, &question);
            rpc::unary(request, serve).await
        }
        "Move" => {
            let serve = async |call, question: MoveRequest| files::rename(guest, &call, &question).await;
            rpc::unary(request, serve).await
        }
        "ListDir" => {
            let serve = async |call, question: ListDirRequest| files::list_dir(guest, &call, question).await;
            rpc::unary(request, serve).await
        }
        "Remove" => {
            let serve = async |call, question: PathRequest| files::remove(guest, &call, &question).await;
            rpc::unary(request, serve).await
        }
        "WatchDir" => {
            let serve = async |call, question: WatchRequest| files::watch_dir(guest, call, &question, busy);
            rpc::server_stream(request, serve).await
        }
        "CreateWatcher" => {
            let serve = async |call, question: WatchRequest| files::create_watcher(guest, &call, &question);
            rpc::unary(request, serve).await
        }
        "GetWatcherEvents" => {
            let serve = async |_, question: WatcherId| files::watcher_events(guest, &question);
            rpc::unary(request, serve).await
        }
        "RemoveWatcher" => {
            let serve = async |_, question: WatcherId| files::remove_watcher(guest, &question);
            rpc::unary(request, serve).await
        }
        _ => status(StatusCode::NOT_FOUND),
    }
}

fn answer(result: Result<Response<Body>, HttpError>) -> Response<Body> {
    result.unwrap_or_else(|error| error.response())
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn preflight() -> Response<Body> {
    let mut response = status(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE"),
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    response
}
