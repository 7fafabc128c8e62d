//! Docker's `config.json`, and podman's `auth.json`: text in, who knows a log-in out.
//!
//! ```json
//! { "auths": { "https://index.docker.io/v1/": { "auth": "<base64 of user:password>" } },
//!   "credHelpers": { "registry.example": "name" }, "credsStore": "name" }
//! ```
//!
//! Keys may carry a scheme and a path; of several that fit a repository the most specific one counts.

use std::collections::BTreeMap;

use abx_core::Secret;
use serde::Deserialize;

use super::Credentials;

/// Docker Hub's keys, the one docker writes first.
const HUB_KEYS: [&str; 3] = ["https://index.docker.io/v1/", "index.docker.io", "docker.io"];

/// A helper that knows a user only by this name means an identity token.
const TOKEN_USER: &str = "<token>";

/// The part of the file that says how to log in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: String,
}

/// What such a file says of a repository.
#[derive(Clone, Debug)]
pub enum Found {
    /// The log-in itself.
    Credentials(Credentials),
    /// The program `docker-credential-<name>` is to be asked for `server`.
    Helper { name: String, server: String },
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Auth {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

/// Its values are secrets.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Auth(****)")
    }
}

impl DockerConfig {
    /// Reads the file. What is wrong is said without quoting it: it holds passwords.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            let kind = match error.classify() {
                serde_json::error::Category::Data => "it does not have the form of docker's configuration",
                serde_json::error::Category::Eof => "it ends too early",
                _ => "it is no JSON",
            };
            format!("{kind} (line {}, column {})", error.line(), error.column())
        })
    }

    /// Who knows the log-in for a repository; in docker's order: the helper of the registry, the helper for
    /// all, the file itself. The error says what is wrong with the entry that fits.
    pub fn find(&self, registry: &str, repository: &str) -> Result<Vec<Found>, String> {
        let keys = keys(registry, repository);
        let helper = keys.iter().find_map(|key| self.helper(key));
        let entry = keys.iter().find_map(|key| self.entry(key));
        let credentials = entry.map(|(key, auth)| auth.read(key)).transpose()?.flatten();
        let store = Some(&self.creds_store).filter(|_| helper.is_none());
        let server = entry.map_or_else(|| server(registry), |(key, _)| key.to_owned());
        let store = store.filter(|name| !name.is_empty()).map(|name| (name.clone(), server));
        let helpers = helper.or(store).map(|(name, server)| Found::Helper { name, server });
        Ok(helpers.into_iter().chain(credentials.map(Found::Credentials)).collect())
    }

    fn helper(&self, wanted: &str) -> Option<(String, String)> {
        let (key, name) = self.cred_helpers.iter().find(|(key, _)| plain(key) == wanted)?;
        (!name.is_empty()).then(|| (name.clone(), key.clone()))
    }

    fn entry(&self, wanted: &str) -> Option<(&str, &Auth)> {
        // An exact key goes before one with a scheme or a path of an old interface.
        let exact = self.auths.get_key_value(wanted);
        let found = exact.or_else(|| self.auths.iter().find(|(key, _)| plain(key) == wanted))?;
        Some((found.0, found.1))
    }
}

impl Auth {
    /// `None` for an entry that only says a helper knows more.
    fn read(&self, key: &str) -> Result<Option<Credentials>, String> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(Credentials::Identity { token: Secret::new(&self.identitytoken) }));
        }
        if !self.username.is_empty() {
            return Ok(Some(Credentials::password(&self.username, &self.password)));
        }
        if self.auth.is_empty() {
            return Ok(None);
        }
        let damaged = || format!("the log-in of {key:?} is not base64 of user:password");
        let bytes = base64(self.auth.trim()).ok_or_else(damaged)?;
        let text = String::from_utf8(bytes).map_err(|_| damaged())?;
        let (user, password) = text.split_once(':').ok_or_else(damaged)?;
        // Docker pads some passwords with zero bytes.
        Ok(Some(Credentials::password(user, password.trim_end_matches('\0'))))
    }
}

/// What a credential helper prints.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

/// Reads what a credential helper has printed; `None` where it is no log-in.
pub fn helper_answer(text: &[u8]) -> Option<Credentials> {
    let answer: HelperAnswer = serde_json::from_slice(text).ok()?;
    Some(match answer.username.as_str() {
        TOKEN_USER => Credentials::Identity { token: Secret::new(answer.secret) },
        user => Credentials::password(user, answer.secret),
    })
}

/// Whether a name can be the end of a program's name, and nothing else.
pub fn is_helper_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(letter)
}

/// How docker calls a registry when it asks a helper.
fn server(registry: &str) -> String {
    if registry == "docker.io" { HUB_KEYS[0].to_owned() } else { registry.to_owned() }
}

/// The keys that fit, most specific first: podman's with the path, then the host alone.
fn keys(registry: &str, repository: &str) -> Vec<String> {
    let hosts = if registry == "docker.io" {
        HUB_KEYS.iter().map(|key| plain(key)).collect()
    } else {
        vec![registry.to_owned()]
    };
    let mut keys = Vec::new();
    let mut path = repository;
    loop {
        keys.extend(hosts.iter().map(|host| format!("{host}/{path}")));
        match path.rsplit_once('/') {
            Some((parent, _)) => path = parent,
            None => break,
        }
    }
    keys.extend(hosts);
    let mut seen = std::collections::HashSet::new();
    keys.retain(|key| seen.insert(key.clone()));
    keys
}

/// A key without its scheme and without the path of docker's old interface.
fn plain(key: &str) -> String {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest).trim_end_matches('/');
    let rest = rest.strip_suffix("/v1").or_else(|| rest.strip_suffix("/v2")).unwrap_or(rest);
    rest.to_owned()
}

/// Decodes standard base64, padded or not.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    (text.len() % 4 != 1).then_some(bytes)
}

#[cfg(test)]
mod tests;
