//! Running code inside: contexts, and the events of a cell.

use std::time::Duration;

pub use abx_protocol::code::{
    AutoInstall, CAPABILITY, CodeError, CodeResult, ContextInfo, ContextState, Event, ExecuteRequest,
    NewContext,
};
use abx_protocol::private::{CODE, CodeService};
use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::transport::{RequestBody, collect};
use crate::{Client, ClientError};

/// How long the service may take to say where it is; it takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest event: who sends it may be hostile.
const LONGEST_EVENT: usize = 256 << 20;
const CALL: &str = "to run code";

impl Client {
    /// Runs a cell. What happens comes as it happens; dropping the stream stops the cell.
    ///
    /// # Errors
    /// [`ClientError::Refused`]: 403 without the capability, 400 and 404 for a context, directory or language that
    /// is not there.
    pub async fn execute(&self, request: &ExecuteRequest) -> Result<CodeEvents, ClientError> {
        let response = self.ask_code(Method::POST, "/execute", Some(request)).await?;
        Ok(CodeEvents { body: response.into_body(), buffer: BytesMut::new(), searched: 0 })
    }

    /// The contexts there are, in the order they were made.
    pub async fn contexts(&self) -> Result<Vec<ContextInfo>, ClientError> {
        self.code(Method::GET, "/contexts", None::<&()>).await
    }

    /// Makes a context. Its kernel starts with its first cell.
    pub async fn create_context(&self, wanted: &NewContext) -> Result<ContextInfo, ClientError> {
        self.code(Method::POST, "/contexts", Some(wanted)).await
    }

    /// Forgets what was defined in a context, and stops what it runs.
    pub async fn restart_context(&self, id: &str) -> Result<(), ClientError> {
        let path = format!("/contexts/{id}/restart");
        self.ask_code(Method::POST, &path, Some(&NewContext::default())).await.map(drop)
    }

    /// Removes a context, and stops what it runs.
    pub async fn remove_context(&self, id: &str) -> Result<(), ClientError> {
        self.ask_code(Method::DELETE, &format!("/contexts/{id}"), None::<&()>).await.map(drop)
    }

    async fn code<A: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<A, ClientError> {
        let response = self.ask_code(method, path, body).await?;
        let bytes = collect(CALL, response.into_body()).await?;
        serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))
    }

    /// Asks the service, which is there from then on, and turns its refusals into errors.
    async fn ask_code(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<Response<Incoming>, ClientError> {
        let builder = self.endpoint.request(Method::POST, CODE, None);
        let answer = self.endpoint.json(CALL, builder, RequestBody::empty(), None);
        let CodeService { port } = tokio::time::timeout(PATIENCE, answer)
            .await
            .unwrap_or(Err(ClientError::Timeout { call: CALL }))?;
        let body = body.map(serde_json::to_vec).transpose().map_err(|error| malformed(error.to_string()))?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "sandbox")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body.unwrap_or_default()))
            .map_err(|error| malformed(format!("bad request: {error}")))?;
        let response = self.request(port, request).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let message = collect(CALL, response.into_body()).await?;
        let message = String::from_utf8_lossy(&message).into_owned();
        Err(ClientError::Refused { call: CALL, status: status.as_u16(), message })
    }
}

fn malformed(what: String) -> ClientError {
    ClientError::Malformed { call: CALL, what }
}

/// What happens while a cell runs.
#[derive(Debug)]
pub struct CodeEvents {
    body: Incoming,
    buffer: BytesMut,
    /// Bytes of the buffer that hold no line break.
    searched: usize,
}

impl CodeEvents {
    /// The next event; `None` after the last. A stream that stops before [`Event::EndOfExecution`] has been cut.
    /// May be dropped and called again without losing anything.
    ///
    /// # Errors
    /// [`ClientError::Gone`] where the sandbox went away.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        loop {
            if let Some(line) = self.line() {
                let event = serde_json::from_slice(&line);
                return event.map(Some).map_err(|error| malformed(error.to_string()));
            }
            if self.buffer.len() > LONGEST_EVENT {
                return Err(malformed("an event is too long".to_owned()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.buffer.extend_from_slice(&bytes);
                    }
                }
                Some(Err(source)) => return Err(ClientError::Gone { call: CALL, source: Some(source) }),
                None => return Ok(None),
            }
        }
    }

    fn line(&mut self) -> Option<Bytes> {
        match self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(position) => {
                let line = self.buffer.split_to(self.searched + position + 1).freeze();
                self.searched = 0;
                Some(line)
            }
            None => {
                self.searched = self.buffer.len();
                None
            }
        }
    }
}
