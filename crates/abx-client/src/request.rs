//! HTTP to the servers inside: one request, through a tunnel of its own.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;

use crate::{Client, ClientError};

impl Client {
    /// Sends a request to the server on `port` inside and returns the answer's head; its body follows at the reader's
    /// pace. Dropping the future or the body hangs up, which the server sees.
    ///
    /// # Errors
    /// [`ClientError::PortClosed`] where nobody listens, [`ClientError::Gone`] where the server hangs up.
    pub async fn request(
        &self,
        port: u16,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ClientError> {
        let gone = |source| ClientError::Gone { call: "a request to a port", source: Some(source) };
        let tunnel = self.tunnel(port).await?;
        let (mut sender, connection) = http1::handshake(tunnel.into_inner()).await.map_err(gone)?;
        // The connection's own error reaches us through the request or the body.
        tokio::spawn(async move { drop(connection.await) });
        sender.send_request(request).await.map_err(gone)
    }
}
