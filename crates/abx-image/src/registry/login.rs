//! Being logged in to a repository.

use std::collections::BTreeSet;
use std::sync::Arc;

use abx_core::Secret;
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use tokio::sync::Mutex;

use super::challenge::Challenge;
use super::{CredentialSource, Credentials};
use crate::ImageError;

/// A token answers for at most so many scopes.
const SCOPES: usize = 8;

/// The answer of a token service may have so many bytes.
const TOKEN_CAP: usize = 1 << 20;

/// The log-in of one endpoint: begun when the registry asks for one, renewed when a token has run out.
pub(super) struct Login {
    client: Client,
    /// Who answers, for messages.
    host: String,
    /// Whose log-in to look for: `docker.io` for Docker Hub.
    registry: String,
    repository: String,
    /// `pull` or `pull,push`.
    actions: &'static str,
    is_encrypted: bool,
    source: Option<Arc<dyn CredentialSource>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Counts log-ins, so that one of several requests that failed together logs in for all.
    generation: u64,
    authorization: Option<Authorization>,
    scopes: BTreeSet<String>,
    /// `None` until it was looked for.
    credentials: Option<Option<Credentials>>,
}

/// What requests carry.
#[derive(Clone)]
enum Authorization {
    Basic { user: String, password: Secret },
    Token(Secret),
}

/// What a request was sent with.
pub(super) struct Ticket {
    generation: u64,
    authorization: Option<Authorization>,
}

impl Ticket {
    pub(super) fn sign(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.authorization {
            Some(Authorization::Basic { user, password }) => {
                request.basic_auth(user, Some(password.expose()))
            }
            Some(Authorization::Token(token)) => request.bearer_auth(token.expose()),
            None => request,
        }
    }
}

/// Who wants to be logged in where.
pub(super) struct Subject<'a> {
    pub(super) host: String,
    pub(super) registry: &'a str,
    pub(super) repository: &'a str,
    pub(super) actions: &'static str,
    pub(super) is_encrypted: bool,
}

impl Login {
    pub(super) fn new(
        client: &Client,
        subject: Subject<'_>,
        source: Option<Arc<dyn CredentialSource>>,
    ) -> Self {
        Self {
            client: client.clone(),
            host: subject.host,
            registry: subject.registry.to_owned(),
            repository: subject.repository.to_owned(),
            actions: subject.actions,
            is_encrypted: subject.is_encrypted,
            source,
            state: Mutex::default(),
        }
    }

    /// What the next request carries.
    pub(super) async fn ticket(&self) -> Ticket {
        let state = self.state.lock().await;
        Ticket { generation: state.generation, authorization: state.authorization.clone() }
    }

    /// Meets the challenge of a 401 to a request sent with `ticket`. Returns whether it was this call that
    /// logged in; else another one has done so meanwhile.
    pub(super) async fn renew(&self, ticket: &Ticket, headers: &HeaderMap) -> Result<bool, ImageError> {
        let mut state = self.state.lock().await;
        if state.generation != ticket.generation {
            return Ok(false);
        }
        let credentials = self.credentials(&mut state).await?;
        let authorization = match (Challenge::find(headers), credentials) {
            (Some(Challenge::Basic), Some(Credentials::Password { user, password })) => {
                Authorization::Basic { user, password }
            }
            (Some(Challenge::Bearer { realm, service, scope }), credentials) => {
                self.extend_scopes(&mut state.scopes, scope.as_deref());
                let wanted = Wanted { realm, service, scopes: &state.scopes };
                Authorization::Token(self.token(wanted, credentials.as_ref()).await?)
            }
            (_, credentials) => return Err(self.denied(credentials.is_some())),
        };
        state.authorization = Some(authorization);
        state.generation += 1;
        Ok(true)
    }

    /// The registry does not let us although it was given what there is.
    pub(super) async fn refused(&self) -> ImageError {
        let state = self.state.lock().await;
        self.denied(matches!(state.credentials, Some(Some(_))))
    }

    fn denied(&self, had_credentials: bool) -> ImageError {
        let (host, registry) = (self.host.clone(), self.registry.clone());
        match had_credentials {
            true => ImageError::Credentials { host, registry },
            false => {
                let reason = "it wants a log-in, or has no such repository";
                ImageError::Login { host, registry, reason }
            }
        }
    }

    /// Looked for once, on a thread that may block.
    async fn credentials(&self, state: &mut State) -> Result<Option<Credentials>, ImageError> {
        if let Some(known) = &state.credentials {
            return Ok(known.clone());
        }
        let found = match self.source.clone() {
            None => None,
            Some(source) => {
                let (registry, repository) = (self.registry.clone(), self.repository.clone());
                let find = move || source.find(&registry, &repository);
                tokio::task::spawn_blocking(find).await.map_err(|_| ImageError::Interrupted)??
            }
        };
        state.credentials = Some(found.clone());
        Ok(found)
    }

    /// What the registry asks for, and for its own repository all that this transfer will need: so one token
    /// serves requests of every kind.
    fn extend_scopes(&self, scopes: &mut BTreeSet<String>, asked: Option<&str>) {
        let own = format!("repository:{}:", self.repository);
        for scope in asked.unwrap_or(&own).split(' ').filter(|scope| !scope.is_empty()) {
            let scope = match scope.strip_prefix(&own) {
                Some("" | "pull") => format!("{own}{}", self.actions),
                _ => scope.to_owned(),
            };
            if scopes.len() < SCOPES {
                scopes.insert(scope);
            }
        }
    }

    async fn token(
        &self,
        wanted: Wanted<'_>,
        credentials: Option<&Credentials>,
    ) -> Result<Secret, ImageError> {
        let login =
            |reason| ImageError::Login { host: self.host.clone(), registry: self.registry.clone(), reason };
        let url = Url::parse(&wanted.realm).map_err(|_| login("its token address is malformed"))?;
        if self.is_encrypted && url.scheme() != "https" {
            return Err(login("it sends log-ins to an address without encryption"));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let response = wanted.request(&self.client, url, credentials).send().await;
        let response = response.map_err(|source| {
            let source = source.without_url();
            ImageError::Unreachable { host, source }
        })?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(self.denied(credentials.is_some()));
            }
            StatusCode::TOO_MANY_REQUESTS => return Err(ImageError::RateLimit { host: self.host.clone() }),
            status if status.is_server_error() => {
                let (host, message) = (self.host.clone(), "its token service failed".to_owned());
                return Err(ImageError::Server { host, status: status.as_u16(), message });
            }
            _ => return Err(login("its token service refuses the request")),
        }
        token_of(response).await.ok_or_else(|| login("its token service gave no token"))
    }
}

/// A token as a registry describes it.
struct Wanted<'a> {
    realm: String,
    service: Option<String>,
    scopes: &'a BTreeSet<String>,
}

impl Wanted<'_> {
    /// A password is shown to the token service, an identity token is exchanged in the manner of OAuth 2.
    fn request(&self, client: &Client, mut url: Url, credentials: Option<&Credentials>) -> RequestBuilder {
        let service = self.service.as_deref();
        if let Some(Credentials::Identity { token }) = credentials {
            let scopes = self.scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
            let mut form = Url::parse("form:").expect("a constant address");
            form.query_pairs_mut()
                .append_pair("grant_type", "refresh_token")
                .append_pair("service", service.unwrap_or_default())
                .append_pair("client_id", "abx")
                .append_pair("scope", &scopes)
                .append_pair("refresh_token", token.expose());
            let request = client.post(url).header("Content-Type", "application/x-www-form-urlencoded");
            return request.body(form.query().unwrap_or_default().to_owned());
        }
        if let Some(service) = service {
            url.query_pairs_mut().append_pair("service", service);
        }
        for scope in self.scopes {
            url.query_pairs_mut().append_pair("scope", scope);
        }
        match credentials {
            Some(Credentials::Password { user, password }) => {
                url.query_pairs_mut().append_pair("account", user);
                client.get(url).basic_auth(user, Some(password.expose()))
            }
            _ => client.get(url),
        }
    }
}

/// The token in an answer: services give it under either name, or under both.
async fn token_of(mut response: reqwest::Response) -> Option<Secret> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > TOKEN_CAP {
            return None;
        }
    }
    let answer: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&body).ok()?;
    let text = |name: &str| answer.get(name)?.as_str().filter(|text| !text.is_empty());
    let token = text("token").or_else(|| text("access_token"))?;
    // It becomes part of a header.
    token.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Secret::new(token))
}
