//! One place that answers for a repository, and the requests to it.

use reqwest::header::{ACCEPT, HeaderMap, RANGE};
use reqwest::{Client, Method, Response, StatusCode, Url};

use super::RegistryName;
use super::address::root;
use super::ask::{Ask, message, pause};
use super::login::{Login, Subject};
use super::open_uploads::Locations;
use super::settings::RegistrySettings;
use crate::ImageError;

/// A request the other side failed is repeated so many times.
pub(super) const RETRIES: u32 = 2;

/// An answer that is read into memory whole may have so many bytes.
const ANSWER_CAP: usize = 4 << 20;

/// A repository at one host.
pub(super) struct Endpoint {
    client: Client,
    /// `https://host[/prefix]/v2/<repository>/`.
    base: Url,
    host: String,
    /// Under which its settings are.
    registry: String,
    repository: String,
    login: Login,
    /// Those under way.
    pub(super) uploads: Locations,
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
            endpoints.push(Self::new(client, name, (mirror, host), settings, "pull")?);
        }
        endpoints.push(Self::for_pull(client, name, settings)?);
        Ok(endpoints)
    }

    /// The registry itself, to ask what no mirror can answer for it.
    pub(super) fn for_pull(
        client: &Client,
        name: &RegistryName,
        settings: &RegistrySettings,
    ) -> Result<Self, ImageError> {
        Self::new(client, name, (name.api_host(), name.registry()), settings, "pull")
    }

    /// The registry itself, to push to: no mirror has a say.
    pub(super) fn for_push(
        client: &Client,
        name: &RegistryName,
        settings: &RegistrySettings,
    ) -> Result<Self, ImageError> {
        Self::new(client, name, (name.api_host(), name.registry()), settings, "pull,push")
    }

    /// `at` is its address, and the host whose settings and log-in are its own.
    fn new(
        client: &Client,
        name: &RegistryName,
        at: (&str, &str),
        settings: &RegistrySettings,
        actions: &'static str,
    ) -> Result<Self, ImageError> {
        let (address, registry) = at;
        let root = root(address, settings.registries.get(registry))?;
        let malformed = || ImageError::RegistryAddress { address: address.to_owned() };
        let repository = name.repository();
        let base = format!("{}/v2/{repository}/", root.as_str().trim_end_matches('/'));
        let base = Url::parse(&base).map_err(|_| malformed())?;
        let host = base.host_str().ok_or_else(malformed)?;
        let host = base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let is_encrypted = base.scheme() == "https";
        let subject = Subject { host: host.clone(), registry, repository, actions, is_encrypted };
        let login = Login::new(client, subject, settings.credentials.clone());
        let (registry, repository) = (registry.to_owned(), repository.to_owned());
        Ok(Self {
            client: client.clone(),
            base,
            host,
            registry,
            repository,
            login,
            uploads: Locations::default(),
        })
    }

    /// Who answers here, for messages.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// `registry/repository`: where a blob of it lies.
    pub(super) fn place(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The address of `path` below the repository.
    pub(super) fn url(&self, path: &str) -> Url {
        self.base.join(path).expect("digests, tags and our own words are plain text")
    }

    /// The address a `Location` header or a link stands for. It may be another host's, which gets no log-in,
    /// but not one without encryption where this one has it.
    pub(super) fn follow(&self, location: &str, from: &Url) -> Result<Url, ImageError> {
        let strange = |reason| ImageError::Protocol { host: self.host.clone(), reason };
        let mut url = from.join(location).map_err(|_| strange("it names a malformed address"))?;
        let is_own = url.host_str() == self.base.host_str();
        if self.base.scheme() == "https" && url.scheme() == "http" && is_own {
            // Behind a proxy that encrypts for it, a registry may not know its own scheme.
            let port = self.base.port();
            let made = url.set_scheme("https").is_ok() && url.set_port(port).is_ok();
            return made.then_some(url).ok_or(strange("it names a malformed address"));
        }
        match url.scheme() {
            "https" => Ok(url),
            "http" if self.base.scheme() == "http" => Ok(url),
            _ => Err(strange("it sends the transfer to an address without encryption")),
        }
    }

    /// Reads `path` into memory, repeating what the other side failed.
    pub(super) async fn read(&self, path: &str, accept: &str) -> Result<(HeaderMap, Vec<u8>), ImageError> {
        self.read_url(&self.url(path), accept).await
    }

    /// [`Endpoint::read`] of an address.
    pub(super) async fn read_url(&self, url: &Url, accept: &str) -> Result<(HeaderMap, Vec<u8>), ImageError> {
        let mut attempt = 0;
        loop {
            match self.read_once(url, accept).await {
                Err(error) if error.is_passing() && !error.is_unreachable() && attempt < RETRIES => {
                    attempt += 1;
                    pause(attempt).await;
                }
                result => return result,
            }
        }
    }

    async fn read_once(&self, url: &Url, accept: &str) -> Result<(HeaderMap, Vec<u8>), ImageError> {
        let mut response = self.get(Ask::new(Method::GET, url.clone()).with(ACCEPT, accept)).await?;
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| self.broken(&self.named(url), error))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_CAP {
                let reason = format!("it has more than {ANSWER_CAP} bytes");
                return Err(ImageError::Manifest { subject: self.named(url), reason });
            }
        }
        Ok((response.headers().clone(), body))
    }

    /// Opens `path` from byte `from` on.
    pub(super) async fn open(&self, path: &str, from: u64) -> Result<Response, ImageError> {
        let ask = Ask::new(Method::GET, self.url(path));
        self.get(if from > 0 { ask.with(RANGE, &format!("bytes={from}-")) } else { ask }).await
    }

    /// The headers of `path`; `None` where there is no such thing.
    pub(super) async fn head(&self, path: &str, accept: &str) -> Result<Option<HeaderMap>, ImageError> {
        let ask = Ask::new(Method::HEAD, self.url(path)).with(ACCEPT, accept);
        match self.get(ask).await {
            Ok(response) => Ok(Some(response.headers().clone())),
            Err(ImageError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A request that must succeed.
    pub(super) async fn get(&self, ask: Ask) -> Result<Response, ImageError> {
        let what = self.named(&ask.url);
        let response = self.ask(ask).await?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(self.refusal(status, &what, response).await),
        }
    }

    /// A request, logged in where the registry asks for it: also when a token has run out in the middle of a
    /// long transfer. Answers with any status but 401. Whoever is not this registry gets no log-in.
    pub(super) async fn ask(&self, ask: Ask) -> Result<Response, ImageError> {
        let is_own = ask.url.origin() == self.base.origin();
        let mut was_renewed = false;
        loop {
            let ticket = self.login.ticket().await;
            let Ask { method, url, headers, body } = ask.clone();
            let mut request = self.client.request(method.clone(), url).headers(headers);
            if !matches!(method, Method::GET | Method::HEAD) {
                request = request.body(body);
            }
            let request = if is_own { ticket.sign(request) } else { request };
            let response = request.send().await.map_err(|error| self.unanswered(error))?;
            match response.status() {
                StatusCode::UNAUTHORIZED if is_own && !was_renewed => {
                    was_renewed = self.login.renew(&ticket, response.headers()).await?;
                }
                StatusCode::UNAUTHORIZED => return Err(self.login.refused().await),
                _ => return Ok(response),
            }
        }
    }

    /// The error an answer that is no success stands for.
    pub(super) async fn refusal(&self, status: StatusCode, what: &str, response: Response) -> ImageError {
        let host = self.host.clone();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.login.refused().await,
            StatusCode::NOT_FOUND => ImageError::NotFound { host, subject: what.to_owned() },
            StatusCode::TOO_MANY_REQUESTS => ImageError::RateLimit { host },
            status => {
                let message = message(response).await;
                ImageError::Server { host, status: status.as_u16(), message }
            }
        }
    }

    /// An answer broke off in the middle.
    pub(super) fn broken(&self, what: &str, error: reqwest::Error) -> ImageError {
        // The address may be a signed one, which is as good as a password.
        let source = Some(error.without_url());
        ImageError::Transfer { subject: what.to_owned(), host: self.host.clone(), source }
    }

    /// What an address of this repository stands for, without what may be secret in it: `team/app:tag`.
    fn named(&self, url: &Url) -> String {
        let path = url.path().strip_prefix(self.base.path()).unwrap_or_default();
        match path.strip_prefix("manifests/") {
            Some(digest) if digest.contains(':') => format!("{}@{digest}", self.repository),
            Some(tag) => format!("{}:{tag}", self.repository),
            None => format!("{}/{path}", self.repository),
        }
    }

    /// No answer at all, or none in time.
    fn unanswered(&self, error: reqwest::Error) -> ImageError {
        let (host, subject, source) = (self.host.clone(), self.repository.clone(), error.without_url());
        match source.is_connect() || source.is_timeout() {
            true => ImageError::Unreachable { host, source },
            false => ImageError::Transfer { subject, host, source: Some(source) },
        }
    }
}
