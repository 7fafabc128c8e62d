//! One place that answers for a repository, and the requests to it.

use std::sync::Mutex;
use std::time::Duration;

use abx_core::Secret;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, RANGE};
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;

use super::auth::Challenge;
use super::settings::{Credentials, RegistrySettings};
use super::{Registry, RegistryName};
use crate::ImageError;

/// A request the other side failed is repeated so many times.
const RETRIES: u32 = 2;

/// An answer that is read into memory whole may have so many bytes.
const ANSWER_CAP: usize = 4 << 20;

/// A repository at one host.
pub(super) struct Endpoint {
    client: Client,
    /// `https://host[/prefix]/v2/<repository>`.
    base: String,
    host: String,
    repository: String,
    credentials: Option<Credentials>,
    authorization: Mutex<Option<Authorization>>,
}

/// What requests carry.
#[derive(Clone)]
enum Authorization {
    Basic,
    Token(Secret),
}

impl Endpoint {
    /// The endpoints to ask for a name, in order: the mirror, then the registry.
    pub(super) fn all(
        client: &Client,
        name: &RegistryName,
        settings: &RegistrySettings,
    ) -> Result<Vec<Self>, ImageError> {
        let entry = settings.registries.get(name.registry());
        let mut endpoints = Vec::new();
        if let Some(mirror) = entry.and_then(|entry| entry.mirror.as_deref()) {
            let host = mirror.split_once("://").map_or(mirror, |(_, rest)| rest);
            let host = host.split('/').next().unwrap_or(host);
            endpoints.push(Self::new(client, name, mirror, settings.registries.get(host))?);
        }
        endpoints.push(Self::new(client, name, name.api_host(), entry)?);
        Ok(endpoints)
    }

    fn new(
        client: &Client,
        name: &RegistryName,
        address: &str,
        entry: Option<&Registry>,
    ) -> Result<Self, ImageError> {
        let malformed = || ImageError::RegistryAddress { address: address.to_owned() };
        let with_scheme =
            |scheme: &str| Url::parse(&format!("{scheme}://{address}")).map_err(|_| malformed());
        let url = match address.contains("://") {
            true => Url::parse(address).map_err(|_| malformed())?,
            false => match with_scheme("https")? {
                url if entry.is_some_and(|entry| entry.insecure) || is_loopback(&url) => with_scheme("http")?,
                url => url,
            },
        };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(malformed());
        }
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let repository = name.repository().to_owned();
        Ok(Self {
            client: client.clone(),
            base: format!("{}/v2/{repository}", url.as_str().trim_end_matches('/')),
            host,
            repository,
            credentials: entry.and_then(|entry| entry.credentials.clone()),
            authorization: Mutex::new(None),
        })
    }

    /// Who answers here, for messages.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Reads `path` into memory, repeating what the other side failed.
    pub(super) async fn read(&self, path: &str, accept: &str) -> Result<(HeaderMap, Vec<u8>), ImageError> {
        let mut attempt = 0;
        loop {
            match self.read_once(path, accept).await {
                Err(ImageError::Server { .. } | ImageError::Transfer { .. }) if attempt < RETRIES => {
                    attempt += 1;
                    pause(attempt).await;
                }
                result => return result,
            }
        }
    }

    async fn read_once(&self, path: &str, accept: &str) -> Result<(HeaderMap, Vec<u8>), ImageError> {
        let accept = HeaderValue::from_str(accept).expect("media types are plain text");
        let mut response = self.get(path, HeaderMap::from_iter([(ACCEPT, accept)])).await?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.broken(path, error))? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_CAP {
                let reason = format!("it has more than {ANSWER_CAP} bytes");
                return Err(ImageError::Manifest { subject: path.to_owned(), reason });
            }
        }
        Ok((response.headers().clone(), body))
    }

    /// Opens `path` from byte `from` on.
    pub(super) async fn open(&self, path: &str, from: u64) -> Result<Response, ImageError> {
        let mut headers = HeaderMap::new();
        if from > 0 {
            let range = format!("bytes={from}-");
            headers.insert(RANGE, HeaderValue::from_str(&range).expect("digits are plain text"));
        }
        self.get(path, headers).await
    }

    /// An answer broke off in the middle.
    pub(super) fn broken(&self, what: &str, error: reqwest::Error) -> ImageError {
        // The address may be a signed one, which is as good as a password.
        let source = Some(error.without_url());
        ImageError::Transfer { subject: what.to_owned(), host: self.host.clone(), source }
    }

    /// A request, logged in where the registry asks for it. Answers successes only.
    async fn get(&self, path: &str, headers: HeaderMap) -> Result<Response, ImageError> {
        let mut refreshed = false;
        loop {
            let response = self.send(path, headers.clone()).await?;
            match response.status() {
                status if status.is_success() => return Ok(response),
                // Also when a token has run out in the middle of a long pull.
                StatusCode::UNAUTHORIZED if !refreshed => {
                    refreshed = true;
                    self.log_in(response.headers()).await?;
                }
                status => return Err(self.refusal(status, path, response).await),
            }
        }
    }

    async fn send(&self, path: &str, headers: HeaderMap) -> Result<Response, ImageError> {
        let request = self.client.get(format!("{}/{path}", self.base)).headers(headers);
        let authorization =
            self.authorization.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let request = match (&authorization, &self.credentials) {
            (Some(Authorization::Token(token)), _) => request.bearer_auth(token.expose()),
            (Some(Authorization::Basic), Some(credentials)) => {
                request.basic_auth(&credentials.user, Some(credentials.password.expose()))
            }
            _ => request,
        };
        request.send().await.map_err(|error| self.unanswered(&self.host, error))
    }

    /// Meets the challenge of a 401.
    async fn log_in(&self, headers: &HeaderMap) -> Result<(), ImageError> {
        let authorization = match Challenge::find(headers) {
            Some(Challenge::Basic) if self.credentials.is_some() => Authorization::Basic,
            Some(Challenge::Bearer { realm, service, scope }) => {
                Authorization::Token(self.token(&realm, service, scope).await?)
            }
            _ => return Err(self.denied()),
        };
        *self.authorization.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(authorization);
        Ok(())
    }

    async fn token(
        &self,
        realm: &str,
        service: Option<String>,
        scope: Option<String>,
    ) -> Result<Secret, ImageError> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(alias = "access_token")]
            token: String,
        }
        let login = |reason| ImageError::Login { host: self.host.clone(), reason };
        let mut url = Url::parse(realm).map_err(|_| login("its token address is malformed"))?;
        if self.base.starts_with("https:") && url.scheme() != "https" {
            return Err(login("it sends log-ins to an address without encryption"));
        }
        let scope = scope.unwrap_or_else(|| format!("repository:{}:pull", self.repository));
        url.query_pairs_mut().append_pair("scope", &scope);
        if let Some(service) = service {
            url.query_pairs_mut().append_pair("service", &service);
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut request = self.client.get(url);
        if let Some(credentials) = &self.credentials {
            request = request.basic_auth(&credentials.user, Some(credentials.password.expose()));
        }
        let response = request.send().await.map_err(|error| self.unanswered(&host, error))?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => return Err(self.denied()),
            status => return Err(self.refusal(status, "token", response).await),
        }
        let answer: Answer = response.json().await.map_err(|_| login("its token service gave no token"))?;
        Ok(Secret::new(answer.token))
    }

    /// The registry does not let us.
    fn denied(&self) -> ImageError {
        let host = self.host.clone();
        match self.credentials {
            Some(_) => ImageError::Credentials { host },
            None => ImageError::Login { host, reason: "it wants a log-in, or has no such repository" },
        }
    }

    /// The error an answer that is no success stands for.
    async fn refusal(&self, status: StatusCode, path: &str, response: Response) -> ImageError {
        let host = self.host.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.denied(),
            StatusCode::NOT_FOUND => {
                ImageError::NotFound { host, subject: format!("{}/{path}", self.repository) }
            }
            StatusCode::TOO_MANY_REQUESTS => ImageError::RateLimit { host },
            status => {
                let message = message(response).await;
                ImageError::Server { host, status: status.as_u16(), message }
            }
        }
    }

    /// No answer at all, or none in time.
    fn unanswered(&self, host: &str, error: reqwest::Error) -> ImageError {
        let host = host.to_owned();
        let subject = self.repository.clone();
        let source = error.without_url();
        match source.is_connect() || source.is_timeout() {
            true => ImageError::Unreachable { host, source },
            false => ImageError::Transfer { subject, host, source: Some(source) },
        }
    }
}

/// Waits a little longer each time.
pub(super) async fn pause(attempt: u32) {
    tokio::time::sleep(Duration::from_millis(100 << attempt.min(6))).await;
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// What the other side says about its failure: the first error of the body, in one line.
async fn message(mut response: Response) -> String {
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
