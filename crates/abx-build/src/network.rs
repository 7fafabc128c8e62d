//! The host's certificates, proxies and mirrors for the time of a step. Nothing of it reaches a layer or a key.

use std::path::PathBuf;

use abx_core::host::HostNetwork;
use abx_isolate::Bind;

use crate::env::{self, Env};

/// The directory of our own files while a step runs: in a fresh tmpfs.
pub(crate) const RUN: &str = "/run/abx";
const BUNDLE: &str = "/run/abx/ca-certificates.crt";
/// Where Debian, Ubuntu and Alpine keep the bundle that programs without a setting of their own read.
pub(crate) const SYSTEM_BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Variables by which programs take another bundle.
const BUNDLE_VARIABLES: [&str; 7] = [
    "SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
];

/// Adds what the host needs to `env`; what a template says itself stays.
pub(crate) fn add_variables(env: &mut Env, host: &HostNetwork) {
    let mut add = |name: &str, value: &str| {
        if env::get(env, name).is_none() {
            env::set(env, name, value);
        }
    };
    for (name, value) in &host.proxies {
        add(name, value);
        add(&name.to_uppercase(), value);
    }
    for (name, value) in &host.tool_env {
        add(name, value);
    }
    if host.ca_bundle.is_some() {
        BUNDLE_VARIABLES.iter().for_each(|name| add(name, BUNDLE));
    }
}

/// Binds the host's bundle below `/run`, and with `over_system` over the image's own where it has one.
pub(crate) fn bundle_binds(host: &HostNetwork, over_system: bool) -> Vec<Bind> {
    let Some(bundle) = &host.ca_bundle else { return Vec::new() };
    let bind = |target: &str, optional| Bind {
        source: bundle.clone(),
        target: PathBuf::from(target),
        read_only: true,
        optional,
    };
    let mut binds = vec![bind(BUNDLE, false)];
    if over_system {
        binds.push(bind(SYSTEM_BUNDLE, true));
    }
    binds
}

/// Ports of the host's loopback at which its proxies and mirrors are.
pub(crate) fn loopback_ports(host: &HostNetwork) -> Vec<u16> {
    let mut ports: Vec<u16> =
        addresses(host).flat_map(|value| value.split([' ', ',', '\n'])).filter_map(loopback_port).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

fn addresses(host: &HostNetwork) -> impl Iterator<Item = &str> {
    let variables = host.proxies.iter().chain(&host.tool_env).map(|(_, value)| value);
    variables.chain(&host.debian.archive).chain(&host.debian.security).map(String::as_str)
}

fn loopback_port(address: &str) -> Option<u16> {
    let (scheme, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let (name, port) = match server.strip_prefix("[::1]") {
        Some(rest) => ("::1", rest.strip_prefix(':')),
        None => server.split_once(':').map_or((server, None), |(name, port)| (name, Some(port))),
    };
    let is_loopback = name == "localhost" || name == "::1" || name.starts_with("127.");
    let default = if scheme == "https" { 443 } else { 80 };
    is_loopback.then(|| port.map_or(Some(default), |port| port.parse().ok()))?
}

/// Replaces the credentials in the host's addresses, and secrets, by stars.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// The longest first.
    secrets: Vec<String>,
}

/// A shorter secret is in many a word by chance: stars there would hide the log and show the letters. It is hidden
/// where it stands alone.
const LONG: usize = 4;

impl Redactor {
    pub(crate) fn new(host: &HostNetwork) -> Self {
        Self::default().with(addresses(host).flat_map(credentials))
    }

    /// The same for these words too.
    pub(crate) fn with(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.secrets.extend(words.into_iter().filter(|word| !word.is_empty()));
        // A longer one may contain a shorter one.
        self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        self.secrets.dedup();
        self
    }

    /// `text` without them.
    pub(crate) fn apply(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| match secret.len() < LONG {
            true => without_word(&text, secret),
            false => text.replace(secret, STARS),
        })
    }

    /// The length of the longest secret, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }

    /// Where text can be cut at `at` or before without a secret that is in both parts; behind one that begins it.
    pub(crate) fn cut(&self, text: &[u8], at: usize) -> usize {
        let across = self.secrets.iter().filter_map(|secret| {
            let first = (at + 1).saturating_sub(secret.len());
            let starts = first..at.min((text.len() + 1).saturating_sub(secret.len()));
            starts
                .into_iter()
                .find(|start| text[*start..].starts_with(secret.as_bytes()))
                .map(|start| (start, secret.len()))
        });
        match across.min() {
            Some((0, length)) => length,
            Some((start, _)) => start,
            None => at,
        }
    }
}

const STARS: &str = "****";

/// `text` without `word` where that is a word of its own.
fn without_word(text: &str, word: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, _) in text.match_indices(word) {
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let (before, after) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
        if !is_letter(before) && !is_letter(after) {
            clean += &text[rest..at];
            clean += STARS;
            rest = at + word.len();
        }
    }
    clean + &text[rest..]
}

/// User and password in each address of `value`, together and the password alone.
fn credentials(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in value.split([' ', ',', '\n']) {
        let Some((_, rest)) = word.split_once("://") else { continue };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let Some((userinfo, _)) = authority.rsplit_once('@') else { continue };
        found.push(userinfo.to_owned());
        let password = userinfo.split_once(':').map_or(userinfo, |(_, password)| password);
        found.push(password.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostNetwork {
        HostNetwork {
            ca_bundle: Some("/host/ca.crt".into()),
            proxies: vec![("https_proxy".into(), "http://me:s3cret@proxy:3128".into())],
            tool_env: vec![("PIP_INDEX_URL".into(), "https://token-1234@pip.corp/simple".into())],
            ..HostNetwork::default()
        }
    }

    #[test]
    fn a_templates_own_value_stays_and_proxies_come_in_both_cases() {
        let mut env = vec![("PIP_INDEX_URL".to_owned(), "https://mine/".to_owned())];
        add_variables(&mut env, &host());
        assert_eq!(env::get(&env, "PIP_INDEX_URL"), Some("https://mine/"));
        assert_eq!(env::get(&env, "HTTPS_PROXY"), Some("http://me:s3cret@proxy:3128"));
        assert_eq!(env::get(&env, "PIP_CERT"), Some(BUNDLE));
        assert_eq!(bundle_binds(&host(), true).len(), 2);
        assert_eq!(bundle_binds(&HostNetwork::default(), true), []);
    }

    #[test]
    fn proxies_of_the_host_itself_are_passed_on() {
        let rows = [
            ("http://127.0.0.1:3128", Some(3128)),
            ("https://u:p@localhost/simple", Some(443)),
            ("http://[::1]:81/", Some(81)),
            ("http://10.0.0.1:3128", None),
            ("localhost,.corp", None),
        ];
        for (address, expected) in rows {
            assert_eq!(loopback_port(address), expected, "{address}");
        }
        assert!(loopback_ports(&host()).is_empty());
    }

    #[test]
    fn a_short_secret_is_hidden_where_it_stands_alone() {
        let words = ["x7", "q", "long-one"].map(str::to_owned);
        let redactor = Redactor::default().with(words);
        let rows = [
            ("key=x7, x7x x7", "key=****, x7x ****"),
            ("q", "****"),
            ("quick q! q", "quick ****! ****"),
            ("alongside long-ones", "alongside ****s"),
        ];
        for (text, expected) in rows {
            assert_eq!(redactor.apply(text), expected, "{text}");
        }
    }

    #[test]
    fn no_cut_goes_through_a_secret() {
        let redactor = Redactor::default().with(["geheim".to_owned()]);
        let rows = [
            ("abcgeheimdef", 3, 3),
            ("abcgeheimdef", 5, 3),
            ("abcgeheimdef", 9, 9),
            ("geheimx", 2, 6),
            ("", 0, 0),
        ];
        for (text, at, expected) in rows {
            assert_eq!(redactor.cut(text.as_bytes(), at), expected, "{text} at {at}");
        }
    }

    #[test]
    fn no_secret_stays_readable() {
        let redactor = Redactor::new(&host());
        let line = "GET http://me:s3cret@proxy:3128 s3cret, https://token-1234@pip.corp/simple";
        let shown = redactor.apply(line);
        assert_eq!(shown, "GET http://****@proxy:3128 ****, https://****@pip.corp/simple");
    }
}
