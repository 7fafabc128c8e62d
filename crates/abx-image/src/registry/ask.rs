//! A request as a value, so that it can be made again.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, Url};

/// A request.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Ask {
    pub(super) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// Adds a header whose value is plain text.
    pub(super) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.insert(name, HeaderValue::from_str(value).expect("plain text"));
        self
    }
}

/// Waits a little longer each time.
pub(super) async fn pause(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(100 << attempt.min(6))).await;
}

/// What the other side says about its failure: the first error of the body, in one line.
pub(super) async fn message(mut response: Response) -> String {
    let mut body = Vec::new();
    while body.len() < 4096 {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    let said = serde_json::from_slice::<serde_json::Value>(&body).ok();
    let said = said.as_ref().and_then(|value| value.pointer("/errors/0/message")?.as_str());
    said.unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect()
}
