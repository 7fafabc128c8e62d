//! The questions to the API, and which host sees the token.

mod tags;
mod token;

use std::time::Duration;

use abx_core::Secret;
use abx_image::http::{self, reqwest};
use abx_reference::Github;
use reqwest::header::{ACCEPT, ETAG, HeaderMap, IF_NONE_MATCH, LOCATION, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use serde_json::Value;

use self::token::may_see_token;
use super::pace::PAUSES;
use super::{GithubError, GithubSettings, repository};

/// A short answer has no more bytes; a commit with all its files may come close.
const ANSWER_CAP: usize = 8 << 20;

/// So many hosts may send us on.
const HOPS: usize = 5;

/// One commit alone, where the other side knows how; else all about it.
const COMMIT_ID: &str = "application/vnd.github.sha, application/vnd.github+json;q=0.9";
const JSON: &str = "application/vnd.github+json";

/// The base address, checked.
pub(super) fn base(address: &str) -> Result<Url, GithubError> {
    let base = Url::parse(address.trim_end_matches('/')).ok().filter(|url| {
        // A password in the address would end up in messages.
        matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty()
    });
    let shown = address.rsplit('@').next().unwrap_or_default();
    base.ok_or_else(|| GithubError::ApiAddress { address: shown.to_owned() })
}

/// A GitHub.
pub(super) struct Api {
    client: Client,
    base: Url,
    token: Option<Secret>,
    /// A short answer is there within this time.
    answer_time: Duration,
}

/// What a name stands for.
pub(super) enum Found {
    Commit {
        commit: String,
        etag: Option<String>,
    },
    /// The same as when the given tag was got.
    Unchanged,
}

impl Api {
    pub(super) fn new(base: &Url, settings: &GithubSettings) -> Result<Self, GithubError> {
        let client = http::builder(&settings.network)
            .map_err(|error| GithubError::Client(Box::new(error)))?
            // Each hop decides anew who sees the token.
            .redirect(redirect::Policy::none())
            .read_timeout(settings.silence)
            .build()
            .map_err(|source| GithubError::Unreachable { host: shown_host(base), source })?;
        // Files and variables often end with a line break.
        let token =
            settings.token.as_ref().map(|token| token.expose().trim()).filter(|token| !token.is_empty());
        if token.is_some_and(|token| !token.bytes().all(|letter| letter.is_ascii_graphic())) {
            return Err(GithubError::TokenMalformed);
        }
        let answer_time = settings.silence * 2;
        Ok(Self { client, base: base.clone(), token: token.map(Secret::new), answer_time })
    }

    /// `host[:port]`.
    pub(super) fn host(&self) -> String {
        shown_host(&self.base)
    }

    /// The commit that `name` stands for, the default branch without one.
    pub(super) async fn commit(
        &self,
        reference: &Github,
        name: Option<&str>,
        etag: Option<&str>,
    ) -> Result<Found, GithubError> {
        if let Some(found) = self.commit_if_any(reference, name.unwrap_or("HEAD"), etag).await? {
            return Ok(found);
        }
        // Is it the repository that is missing, or the name?
        let about = self.get(&self.address(reference, &[]), JSON, None).await?;
        let about = self.json(self.accept(reference, about).await?).await?;
        if let Some(name) = name {
            return Err(no_ref(reference, name));
        }
        let branch = about["default_branch"].as_str().unwrap_or("HEAD");
        self.commit_if_any(reference, branch, None).await?.ok_or_else(|| no_ref(reference, branch))
    }

    /// The commit that `name` stands for; `None` where there is no such name, or no such repository.
    pub(super) async fn commit_if_any(
        &self,
        reference: &Github,
        name: &str,
        etag: Option<&str>,
    ) -> Result<Option<Found>, GithubError> {
        let parts: Vec<&str> = std::iter::once("commits").chain(name.split('/')).collect();
        let response = self.get(&self.address(reference, &parts), COMMIT_ID, etag).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::UNPROCESSABLE_ENTITY => Ok(None),
            _ => self.found(reference, response).await.map(Some),
        }
    }

    /// The archive of a commit, about to be sent.
    pub(super) async fn tarball(&self, reference: &Github, commit: &str) -> Result<Response, GithubError> {
        let response = self.get(&self.address(reference, &["tarball", commit]), JSON, None).await?;
        if response.status() == StatusCode::NOT_FOUND {
            // A commit that was written out was never asked for.
            self.commit(reference, Some(commit), None).await?;
        }
        self.accept(reference, response).await
    }

    async fn found(&self, reference: &Github, response: Response) -> Result<Found, GithubError> {
        if response.status() == StatusCode::NOT_MODIFIED {
            return Ok(Found::Unchanged);
        }
        let response = self.accept(reference, response).await?;
        let etag = header(response.headers(), ETAG.as_str());
        let body = self.read(response).await?;
        let text = String::from_utf8_lossy(&body);
        let commit = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(about)) => about.get("sha").and_then(Value::as_str).map(str::to_owned),
            _ => Some(text.trim().to_owned()),
        };
        match commit.filter(|commit| super::cache::is_commit(commit)) {
            Some(commit) => Ok(Found::Commit { commit: commit.to_ascii_lowercase(), etag }),
            None => Err(self.senseless("it names no commit")),
        }
    }

    fn address(&self, reference: &Github, parts: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["repos", reference.owner(), reference.repository()]);
            segments.extend(parts);
        }
        url
    }

    /// Asks, and goes where the answer sends us.
    async fn get(&self, address: &Url, accept: &str, etag: Option<&str>) -> Result<Response, GithubError> {
        let mut address = address.clone();
        for _ in 0..HOPS {
            let response = self.send(&address, accept, etag).await?;
            if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let host = shown_host(&address);
            let target = header(response.headers(), LOCATION.as_str());
            let target = target.and_then(|target| address.join(&target).ok());
            address = target
                .filter(|url| matches!(url.scheme(), "http" | "https"))
                .ok_or_else(|| GithubError::Answer { host, reason: "it redirects to nowhere".to_owned() })?;
        }
        Err(GithubError::Redirects { host: self.host() })
    }

    /// Asks one host, and again where it is out of order for a moment.
    async fn send(&self, address: &Url, accept: &str, etag: Option<&str>) -> Result<Response, GithubError> {
        let mut pauses = PAUSES.iter();
        loop {
            let sent = self.send_once(address, accept, etag).await;
            let may_pass = match &sent {
                Ok(response) => matches!(response.status().as_u16(), 502..=504),
                Err(error) => matches!(error, GithubError::Transfer { .. }),
            };
            match pauses.next() {
                Some(pause) if may_pass => tokio::time::sleep(*pause).await,
                _ => return sent,
            }
        }
    }

    async fn send_once(
        &self,
        address: &Url,
        accept: &str,
        etag: Option<&str>,
    ) -> Result<Response, GithubError> {
        let mut request = self.client.get(address.clone()).header(ACCEPT, accept);
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        if let Some(token) = self.token.as_ref().filter(|_| may_see_token(&self.base, address)) {
            request = request.bearer_auth(token.expose());
        }
        let host = shown_host(address);
        let sent = tokio::time::timeout(self.answer_time, request.send()).await;
        let sent = sent.map_err(|_| GithubError::TooSlow { host: host.clone(), limit: self.answer_time })?;
        sent.map_err(|error| broken(host, error))
    }

    /// Successes, and the error that any other answer stands for.
    async fn accept(&self, reference: &Github, response: Response) -> Result<Response, GithubError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let host = shown_host(response.url());
        let headers = response.headers().clone();
        let repository = repository(reference);
        let has_token = self.token.is_some();
        let number = |name: &str| header(&headers, name).and_then(|value| value.parse::<u64>().ok());
        let retry_after = number(RETRY_AFTER.as_str());
        let message = self.message(response).await;
        let is_secondary = message.to_ascii_lowercase().contains("secondary rate limit");
        Err(match status.as_u16() {
            401 if has_token => GithubError::TokenRefused { host, repository },
            401 => GithubError::TokenWanted { host, repository },
            403 | 429 if is_secondary => GithubError::SecondaryLimit { host, retry_after },
            403 | 429 if number("x-ratelimit-remaining") == Some(0) => {
                GithubError::PrimaryLimit { host, reset: number("x-ratelimit-reset"), has_token }
            }
            403 if retry_after.is_none() => GithubError::Forbidden { host, repository, message, has_token },
            403 | 429 => GithubError::SecondaryLimit { host, retry_after },
            404 | 410 | 451 => GithubError::NoRepository { host, repository, has_token },
            409 => GithubError::EmptyRepository { repository },
            status => GithubError::Server { host, status, message },
        })
    }

    async fn json(&self, response: Response) -> Result<Value, GithubError> {
        let body = self.read(response).await?;
        serde_json::from_slice(&body).map_err(|_| self.senseless("it is no JSON"))
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, GithubError> {
        let host = shown_host(response.url());
        let all = async {
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(|error| broken(host.clone(), error))? {
                body.extend_from_slice(&chunk);
                if body.len() > ANSWER_CAP {
                    return Err(self.senseless("it does not end"));
                }
            }
            Ok(body)
        };
        let limit = self.answer_time;
        tokio::time::timeout(limit, all)
            .await
            .unwrap_or(Err(GithubError::TooSlow { host: self.host(), limit }))
    }

    /// What the other side says about its refusal, in one line.
    async fn message(&self, response: Response) -> String {
        let body = self.read(response).await.unwrap_or_default();
        let said = serde_json::from_slice::<Value>(&body).unwrap_or_default();
        let said = said["message"].as_str().unwrap_or_default();
        said.chars().filter(|letter| !letter.is_control()).take(200).collect()
    }

    pub(super) fn unconditional(&self) -> GithubError {
        self.senseless("304 to a question without a condition")
    }

    fn senseless(&self, reason: &str) -> GithubError {
        GithubError::Answer { host: self.host(), reason: reason.to_owned() }
    }
}

fn no_ref(reference: &Github, name: &str) -> GithubError {
    GithubError::NoRef { repository: repository(reference), name: name.to_owned(), instead: None }
}

/// No answer, none in time, or one that broke off. Addresses may be signed, and are not shown.
pub(super) fn broken(host: String, error: reqwest::Error) -> GithubError {
    let source = error.without_url();
    match source.is_connect() || source.is_timeout() {
        true => GithubError::Unreachable { host, source },
        false => GithubError::Transfer { host, source },
    }
}

pub(super) fn shown_host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}
