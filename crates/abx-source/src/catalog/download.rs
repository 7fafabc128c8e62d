//! The index as its host or its file has it now.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use abx_image::http::{self, reqwest};
use abx_spec::limits::INDEX_BYTES;
use reqwest::header::{ACCEPT, ETAG, HeaderMap, IF_NONE_MATCH, LOCATION};
use reqwest::{Client, Response, StatusCode, Url, redirect};

use super::CatalogError;
use super::location::shown;
use crate::github::GithubSettings;

/// All of it is there within this time.
const TIME: Duration = Duration::from_secs(60);

/// So many hosts may send us on.
const HOPS: usize = 5;

/// The file itself, where the host is GitHub's API, which would otherwise describe it.
const RAW: &str = "application/vnd.github.raw+json, application/yaml;q=0.9, */*;q=0.8";

/// One question.
pub(super) struct Download<'s> {
    pub(super) url: Url,
    pub(super) settings: &'s GithubSettings,
}

pub(super) enum Answer {
    New {
        text: String,
        etag: Option<String>,
    },
    /// The same as when the given tag was got.
    Unchanged,
}

impl Download<'_> {
    pub(super) async fn ask(&self, etag: Option<&str>) -> Result<Answer, CatalogError> {
        let all = async {
            let response = self.follow(&self.client()?, etag).await?;
            if response.status() == StatusCode::NOT_MODIFIED {
                return Ok(Answer::Unchanged);
            }
            let response = self.accept(response)?;
            let etag = header(response.headers(), ETAG.as_str());
            let origin = shown(&self.url);
            let body = read(response, &origin).await?;
            let text = String::from_utf8(body).map_err(|_| CatalogError::NotText { origin })?;
            Ok(Answer::New { text, etag })
        };
        let slow = || CatalogError::TooSlow { host: host(&self.url), limit: TIME };
        tokio::time::timeout(TIME, all).await.unwrap_or_else(|_| Err(slow()))
    }

    fn client(&self) -> Result<Client, CatalogError> {
        http::builder(&self.settings.network)
            .map_err(|error| CatalogError::Client(Box::new(error)))?
            // Each hop decides anew who sees the token.
            .redirect(redirect::Policy::none())
            .read_timeout(self.settings.silence)
            .build()
            .map_err(|source| CatalogError::Unreachable { host: host(&self.url), source })
    }

    /// Asks, and goes where the answer sends us; from https nobody is sent to http.
    async fn follow(&self, client: &Client, etag: Option<&str>) -> Result<Response, CatalogError> {
        let mut address = self.url.clone();
        for _ in 0..HOPS {
            let mut request = client.get(address.clone()).header(ACCEPT, RAW);
            if let Some(etag) = etag {
                request = request.header(IF_NONE_MATCH, etag);
            }
            if let Some(token) = self.settings.token.as_ref().filter(|_| self.may_see_token(&address)) {
                request = request.bearer_auth(token.expose().trim());
            }
            let response = request.send().await.map_err(|error| broken(host(&address), error))?;
            if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
                return Ok(response);
            }
            let target = header(response.headers(), LOCATION.as_str());
            let target = target.and_then(|target| address.join(&target).ok());
            address = match target {
                Some(target) if is_as_safe(&address, &target) => target,
                Some(target) => {
                    return Err(CatalogError::Redirect { host: host(&address), target: shown(&target) });
                }
                None => return Err(CatalogError::senseless(&self.url, "it redirects to nowhere")),
            };
        }
        Err(CatalogError::senseless(&self.url, "it redirects in a circle"))
    }

    /// Only where the index comes from GitHub's own API.
    fn may_see_token(&self, address: &Url) -> bool {
        Url::parse(&self.settings.api).is_ok_and(|api| api.origin() == address.origin())
    }

    fn accept(&self, response: Response) -> Result<Response, CatalogError> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let host = host(response.url());
        let number = |name: &str| header(response.headers(), name)?.parse::<u64>().ok();
        let is_limit = number("x-ratelimit-remaining") == Some(0) || status == StatusCode::TOO_MANY_REQUESTS;
        Err(match status.as_u16() {
            403 | 429 if is_limit => {
                let wants_token = self.settings.token.is_none() && self.may_see_token(response.url());
                CatalogError::Limit { host, reset: number("x-ratelimit-reset"), wants_token }
            }
            404 => CatalogError::NotThere { origin: shown(&self.url) },
            status @ 500..=599 => CatalogError::Server { host, status },
            status => CatalogError::Refused { host, status },
        })
    }
}

/// Whether a redirect leads to nothing that everybody on the way could change.
fn is_as_safe(from: &Url, to: &Url) -> bool {
    match to.scheme() {
        "https" => true,
        "http" => from.scheme() == "http",
        _ => false,
    }
}

async fn read(mut response: Response, origin: &str) -> Result<Vec<u8>, CatalogError> {
    let host = host(response.url());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(host.clone(), error))? {
        body.extend_from_slice(&chunk);
        if body.len() > INDEX_BYTES {
            return Err(CatalogError::TooLarge { origin: origin.to_owned(), limit: INDEX_BYTES });
        }
    }
    Ok(body)
}

/// An index of this machine, which is read anew each time.
pub(super) fn read_file(path: &Path, origin: &str) -> Result<String, CatalogError> {
    let mut body = Vec::new();
    let mut read = || {
        // A FIFO would be waited for when it is opened.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("it is no file"));
        }
        std::fs::File::open(path)?.take(INDEX_BYTES as u64 + 1).read_to_end(&mut body)
    };
    read().map_err(CatalogError::io("read", path))?;
    if body.len() > INDEX_BYTES {
        return Err(CatalogError::TooLarge { origin: origin.to_owned(), limit: INDEX_BYTES });
    }
    String::from_utf8(body).map_err(|_| CatalogError::NotText { origin: origin.to_owned() })
}

/// Addresses may be signed, and are not shown.
fn broken(host: String, error: reqwest::Error) -> CatalogError {
    let source = error.without_url();
    match source.is_connect() || source.is_timeout() {
        true => CatalogError::Unreachable { host, source },
        false => CatalogError::Transfer { host, source },
    }
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_never_leads_from_https_to_less() {
        for (from, to, expected) in [
            ("https://h/i", "https://other/i", true),
            ("https://h/i", "http://h/i", false),
            ("https://h/i", "http://127.0.0.1/i", false),
            ("http://h/i", "https://h/i", true),
            ("http://h/i", "http://other:8080/i", true),
            ("http://h/i", "file:///etc/passwd", false),
            ("https://h/i", "ftp://h/i", false),
            ("https://h/i", "data:text/yaml,templates: []", false),
        ] {
            let url = |text| Url::parse(text).expect(text);
            assert_eq!(is_as_safe(&url(from), &url(to)), expected, "{from} to {to}");
        }
    }
}
