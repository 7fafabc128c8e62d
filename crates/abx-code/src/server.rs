//! Accepts connections and serves them, all on one thread.

use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::spawn_local;

use crate::contexts::Contexts;
use crate::routes;
use crate::settings::Settings;

/// A client that sends half a head and no more is dropped after this.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// After an error of accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves for ever. The listener must not block; must be called within a `LocalSet`.
///
/// # Errors
/// The listener is none.
pub async fn serve(listener: std::net::TcpListener, settings: Settings) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let contexts = Rc::new(Contexts::new(settings));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // An event must not wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let contexts = contexts.clone();
        spawn_local(async move {
            let service = service_fn(|request| {
                let contexts = contexts.clone();
                async move { Ok::<_, Infallible>(routes::route(&contexts, request).await) }
            });
            // A connection that breaks concerns its own call alone, which learns of it by its outlet.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
