//! Raw bytes to and from a port inside: what the host asks of the services in the sandbox's own network.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::query::Query;
use super::{Body, HttpError};
use crate::activity::Busy;

/// Connects to the port that the request names and answers 101; from then on the connection carries the port's
/// bytes. It counts as a call until either side has had its say.
///
/// # Errors
/// 400 without a port or without `Upgrade`, 502 where nobody listens.
pub(super) async fn open(request: Request<Incoming>, busy: Busy) -> Result<Response<Body>, HttpError> {
    let port = Query::of(request.uri()).get("port").and_then(|port| port.parse().ok());
    let Some(port) = port.filter(|port| *port != 0) else {
        return Err(HttpError::bad_request("`port` is a number from 1 to 65535"));
    };
    if request.headers().get(header::UPGRADE).is_none_or(|wanted| wanted != abx_protocol::private::UPGRADE) {
        return Err(HttpError::bad_request(format!(
            "a tunnel needs `Upgrade: {}`",
            abx_protocol::private::UPGRADE
        )));
    }
    let mut inside = connect(port).await?;
    let busy = busy.into_stream();
    tokio::task::spawn_local(async move {
        let _busy = busy;
        if let Ok(outside) = hyper::upgrade::on(request).await {
            // An end that breaks ends the other, which is all there is to say.
            let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(outside), &mut inside).await;
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static(abx_protocol::private::UPGRADE));
    Ok(response)
}

/// Servers listen on either loopback address.
async fn connect(port: u16) -> Result<TcpStream, HttpError> {
    let addresses =
        [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))];
    let stream = TcpStream::connect(&addresses[..])
        .await
        .map_err(|_| HttpError::new(StatusCode::BAD_GATEWAY, format!("port {port} is not open")))?;
    // A frame must not wait for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}
