//! Accepts connections and serves them, all on one thread.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::{AddressFamily, sockopt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

use super::router;
use crate::guest::Guest;

/// A client that sends half a head and no more is dropped after this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// After an error of accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// An inherited listening socket.
pub(crate) enum Listener {
    Unix(UnixListener),
    /// For a client that cannot speak over a unix socket.
    Tcp(TcpListener),
}

impl Listener {
    /// Must be called inside the runtime.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        if sockopt::socket_domain(&socket)? == AddressFamily::UNIX {
            UnixListener::from_std(socket.into()).map(Self::Unix)
        } else {
            TcpListener::from_std(socket.into()).map(Self::Tcp)
        }
    }
}

/// Serves for ever.
pub(crate) async fn serve(listener: Listener, guest: Rc<Guest>) {
    loop {
        let accepted = match &listener {
            Listener::Unix(listener) => {
                listener.accept().await.map(|(stream, _)| spawn(stream, guest.clone()))
            }
            Listener::Tcp(listener) => listener.accept().await.map(|(stream, _)| {
                // A frame must not wait for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                spawn(stream, guest.clone());
            }),
        };
        if accepted.is_err() {
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    }
}

fn spawn(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, guest: Rc<Guest>) {
    tokio::task::spawn_local(async move {
        let service = service_fn(move |request| router::route(guest.clone(), request));
        // A connection that breaks concerns its call alone, which learns of it by its body.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
            .await;
    });
}
