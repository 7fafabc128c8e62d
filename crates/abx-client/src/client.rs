//! The client and its small calls.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::Secret;
use abx_protocol::private::{self, Activity, ExecRequest, ExecResponse, Info, ListeningPort, Ports, Startup};
use abx_protocol::process::{ListRequest, ListResponse, ProcessInfo};
use bytes::Bytes;
use http::{Method, header};

use crate::ClientError;
use crate::transport::{Endpoint, RequestBody, refusal};

/// How long the daemon may take to say how it is; it takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much longer than a probe's own limit its answer is awaited.
const PROBE_SLACK: Duration = Duration::from_secs(2);

/// Speaks to one sandbox's daemon. Cheap to make and to clone.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) endpoint: Endpoint,
}

impl Client {
    /// For the daemon that listens at `socket`. Nothing is connected yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { endpoint: Endpoint { socket: socket.into(), token: None } }
    }

    /// Carries the sandbox's access token with every call.
    #[must_use]
    pub fn with_token(mut self, token: Secret) -> Self {
        self.endpoint.token = Some(token);
        self
    }

    /// The socket it speaks to.
    pub fn socket(&self) -> &Path {
        &self.endpoint.socket
    }

    /// Succeeds when the daemon answers.
    pub async fn health(&self) -> Result<(), ClientError> {
        let builder = self.endpoint.request(Method::GET, "/health", None);
        let response = self.endpoint.send("health", builder, RequestBody::empty()).await?;
        if response.status().is_success() { Ok(()) } else { Err(refusal("health", None, response).await) }
    }

    /// What the daemon is and was told.
    pub async fn info(&self) -> Result<Info, ClientError> {
        self.get("info", private::INFO).await
    }

    /// How busy the sandbox is.
    pub async fn activity(&self) -> Result<Activity, ClientError> {
        self.get("activity", private::ACTIVITY).await
    }

    /// Where the startup command is.
    pub async fn startup(&self) -> Result<Startup, ClientError> {
        self.get("startup", private::STARTUP).await
    }

    /// What listens inside. No sign of use.
    pub async fn ports(&self) -> Result<Vec<ListeningPort>, ClientError> {
        let answer: Ports = self.get("ports", private::PORTS).await?;
        Ok(answer.ports)
    }

    /// Adds to the environment of every process from now on.
    pub async fn set_env(&self, variables: &[(String, String)]) -> Result<(), ClientError> {
        let variables: BTreeMap<&str, &str> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let body = serde_json::to_vec(&BTreeMap::from([("envVars", variables)])).expect("strings");
        let builder = self
            .endpoint
            .request(Method::POST, "/init", None)
            .header(header::CONTENT_TYPE, "application/json");
        let answer = async {
            let response = self.endpoint.send("init", builder, Bytes::from(body).into()).await?;
            if response.status().is_success() { Ok(()) } else { Err(refusal("init", None, response).await) }
        };
        within(PATIENCE, "init", answer).await
    }

    /// Runs a probe or health check and waits for it. One that takes longer than `timeout` is killed with all it
    /// started, which is an answer ([`ExecResponse::timed_out`]), no error. It is no sign of use.
    pub async fn exec_probe(
        &self,
        command: impl Into<String>,
        user: Option<&str>,
        timeout: Duration,
    ) -> Result<ExecResponse, ClientError> {
        let request = ExecRequest {
            command: command.into(),
            user: user.map(str::to_owned),
            timeout: timeout.as_secs_f64(),
        };
        let body = serde_json::to_vec(&request).expect("strings and a number");
        let builder = self
            .endpoint
            .request(Method::POST, private::EXEC, None)
            .header(header::CONTENT_TYPE, "application/json");
        let answer = self.endpoint.json("exec", builder, Bytes::from(body).into(), None);
        within(timeout + PROBE_SLACK, "exec", answer).await
    }

    /// The processes that calls started and that still run.
    pub async fn processes(&self) -> Result<Vec<ProcessInfo>, ClientError> {
        let answer: ListResponse = self
            .endpoint
            .unary("list processes", "/process.Process/List", None, &ListRequest {}, None)
            .await?;
        Ok(answer.processes)
    }

    async fn get<A: serde::de::DeserializeOwned>(
        &self,
        call: &'static str,
        target: &str,
    ) -> Result<A, ClientError> {
        let builder = self.endpoint.request(Method::GET, target, None);
        within(PATIENCE, call, self.endpoint.json(call, builder, RequestBody::empty(), None)).await
    }
}

/// A daemon that hangs must not hang its host.
async fn within<A>(
    limit: Duration,
    call: &'static str,
    answer: impl Future<Output = Result<A, ClientError>>,
) -> Result<A, ClientError> {
    tokio::time::timeout(limit, answer).await.unwrap_or(Err(ClientError::Timeout { call }))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn an_answer_without_end_is_refused() {
        let dir = tempfile::tempdir().expect("tempdir");
        let socket = dir.path().join("s");
        let listener = UnixListener::bind(&socket).expect("bind");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("accept");
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n{\"").await;
            // Until the client hangs up.
            while stream.write_all(&[b'x'; 64 << 10]).await.is_ok() {}
        });
        let error = Client::new(&socket).activity().await.expect_err("too long");
        assert!(matches!(error, ClientError::Malformed { call: "activity", .. }), "{error:?}");
    }

    #[tokio::test]
    async fn a_daemon_that_never_answers_is_not_awaited_for_ever() {
        let never = within::<()>(Duration::from_millis(1), "activity", std::future::pending());
        assert!(matches!(never.await, Err(ClientError::Timeout { call: "activity" })));
    }
}
