//! Connections to the ports inside.

use abx_protocol::private;
use http::{Method, StatusCode, header};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;

use crate::transport::{RequestBody, refusal};
use crate::{Client, ClientError};

/// A connection to a port inside: reads and writes what the server there does.
pub type Tunnel = TokioIo<Upgraded>;

impl Client {
    /// Connects to `port` on the sandbox's loopback, whatever network it has.
    ///
    /// # Errors
    /// [`ClientError::PortClosed`] where nobody listens.
    pub async fn tunnel(&self, port: u16) -> Result<Tunnel, ClientError> {
        let call = "a connection to a port";
        let builder = self
            .endpoint
            .request(Method::GET, &format!("{}?port={port}", private::TUNNEL), None)
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, private::UPGRADE);
        let response = self.endpoint.send(call, builder, RequestBody::empty()).await?;
        match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => {
                let upgraded = hyper::upgrade::on(response).await;
                upgraded.map(TokioIo::new).map_err(|source| ClientError::Gone { call, source: Some(source) })
            }
            StatusCode::BAD_GATEWAY => Err(ClientError::PortClosed { port }),
            _ => Err(refusal(call, None, response).await),
        }
    }
}
