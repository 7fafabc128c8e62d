//! The service inside: `GET /commands`, `POST /commands/{name}`.

use std::time::Duration;

use abx_client::{Client, ClientError, CommandService};
use abx_core::Secret;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CommandError, NamedCommand};

/// Bytes of the longest answer: whoever answers may be hostile.
const LONGEST_ANSWER: usize = 512 << 20;
/// What is listed is known already.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whoever serves the sandbox's named commands.
pub(super) struct Service {
    client: Client,
    port: u16,
    token: Option<Secret>,
}

/// An answer that is an error.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    error: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Service {
    /// Finds it, or has it started.
    pub(super) async fn find(client: Client) -> Result<Self, CommandError> {
        let CommandService { port, token, .. } =
            client.command_service().await.map_err(|error| match error {
                ClientError::Refused { message, .. } => CommandError::Service { message },
                error => CommandError::Client(error),
            })?;
        Ok(Self { client, port, token: token.map(Secret::new) })
    }

    /// What it offers, in order of names.
    pub(super) async fn list(&self) -> Result<Vec<NamedCommand>, CommandError> {
        #[derive(Deserialize)]
        struct Listed {
            commands: Vec<NamedCommand>,
        }
        let (status, body) = tokio::time::timeout(PATIENCE, self.ask(Method::GET, "/commands", Bytes::new()))
            .await
            .map_err(|_| self.malformed(format!("no answer within {} s", PATIENCE.as_secs())))??;
        if status != StatusCode::OK {
            return Err(CommandError::Refused { message: refusal(status, &body).error });
        }
        let listed: Listed =
            serde_json::from_slice(&body).map_err(|error| self.malformed(error.to_string()))?;
        let mut commands = listed.commands;
        commands.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(commands)
    }

    /// Calls one. A limit of zero is none.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Value, CommandError> {
        let body = Bytes::from(serde_json::to_vec(arguments).expect("JSON values"));
        let target = format!("/commands/{}", escaped(name));
        let answer = self.ask(Method::POST, &target, body);
        let (status, body) = match limit {
            Duration::ZERO => answer.await,
            limit => tokio::time::timeout(limit, answer)
                .await
                .map_err(|_| CommandError::Timeout { name: name.to_owned(), limit })?,
        }
        .map_err(|error| match error {
            CommandError::Client(source @ ClientError::Gone { .. }) => {
                CommandError::Ended { name: name.to_owned(), source }
            }
            error => error,
        })?;
        match status {
            StatusCode::OK => self.value(&body),
            _ => Err(self.failed(name, status, &body).await),
        }
    }

    fn value(&self, body: &[u8]) -> Result<Value, CommandError> {
        let mut answer: Map<String, Value> =
            serde_json::from_slice(body).map_err(|error| self.malformed(error.to_string()))?;
        answer.remove("result").ok_or_else(|| self.malformed("an answer without `result`".to_owned()))
    }

    async fn failed(&self, name: &str, status: StatusCode, body: &[u8]) -> CommandError {
        let Refusal { error, kind } = refusal(status, body);
        let name = name.to_owned();
        match status {
            StatusCode::NOT_FOUND => {
                let listed = self.list().await.unwrap_or_default();
                CommandError::Unknown { name, available: listed.into_iter().map(|each| each.name).collect() }
            }
            StatusCode::BAD_REQUEST => CommandError::Arguments { name, problem: error, signature: None },
            StatusCode::INTERNAL_SERVER_ERROR => CommandError::Raised { name, kind, message: error },
            _ => CommandError::Refused { message: error },
        }
    }

    async fn ask(
        &self,
        method: Method,
        target: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), CommandError> {
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::HOST, format!("127.0.0.1:{}", self.port))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        let request =
            request.body(Full::new(body)).map_err(|error| self.malformed(format!("bad request: {error}")))?;
        let response = self.client.request(self.port, request).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await.map_err(|error| {
            match error.downcast::<hyper::Error>() {
                Ok(source) => ClientError::Gone { call: "a named command", source: Some(*source) }.into(),
                Err(error) => self.malformed(error.to_string()),
            }
        })?;
        Ok((status, body.to_bytes()))
    }

    fn malformed(&self, what: String) -> CommandError {
        CommandError::Malformed { port: self.port, what }
    }
}

fn refusal(status: StatusCode, body: &[u8]) -> Refusal {
    let refusal: Refusal = serde_json::from_slice(body).unwrap_or_default();
    let error =
        if refusal.error.is_empty() && refusal.kind.is_empty() { status.to_string() } else { refusal.error };
    Refusal { error, ..refusal }
}

/// A name as one part of a path.
fn escaped(name: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes().fold(String::new(), |mut text, byte| {
        match keep(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}
