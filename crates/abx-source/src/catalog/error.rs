//! What can go wrong between the address of an index and its listings.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use abx_core::{Code, Fault, Snippet};
use abx_image::ImageError;
use abx_image::http::reqwest::{self, Url};
use abx_spec::Invalid;

use super::location::shown;

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    #[error("the address of the template index is malformed: `{address}`")]
    Address { address: String },
    #[error(transparent)]
    Client(Box<ImageError>),
    #[error("the template index {origin} is no UTF-8 text")]
    NotText { origin: String },
    #[error("the template index {origin} has more than {limit} bytes")]
    TooLarge { origin: String, limit: usize },
    /// Its text means nothing.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("there is no template index at {origin}")]
    NotThere { origin: String },
    /// `reset` in seconds since 1970; `wants_token` where a token would be sent, and none was.
    #[error("{host} allows no more requests for the template index{}", until(*.reset))]
    Limit { host: String, reset: Option<u64>, wants_token: bool },
    #[error("{host} refuses the template index with status {status}")]
    Refused { host: String, status: u16 },
    #[error("{host} failed with status {status} when asked for the template index")]
    Server { host: String, status: u16 },
    #[error("cannot reach {host} for the template index")]
    Unreachable { host: String, source: reqwest::Error },
    #[error("{host} did not send the template index within {} seconds", .limit.as_secs())]
    TooSlow { host: String, limit: Duration },
    #[error("the transfer of the template index from {host} broke off")]
    Transfer { host: String, source: reqwest::Error },
    #[error("{host} redirects to {target}, which is not as safe")]
    Redirect { host: String, target: String },
    #[error("{origin} gave an answer that makes no sense: {reason}")]
    Senseless { origin: String, reason: &'static str },
    #[error("the template index {origin} is not in the cache, and --offline keeps to this machine")]
    Offline { origin: String },
    #[error("cannot {verb} {}", .path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
}

impl CatalogError {
    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }

    pub(super) fn senseless(url: &Url, reason: &'static str) -> Self {
        Self::Senseless { origin: shown(url), reason }
    }

    /// Whether a copy is to be used meanwhile: what is wrong is on the way or with the host, and passes.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::TooSlow { .. }
            | Self::Transfer { .. }
            | Self::Server { .. }
            | Self::Limit { .. }
            | Self::NotThere { .. } => true,
            Self::Refused { status, .. } => *status == 403,
            _ => false,
        }
    }
}

impl Fault for CatalogError {
    fn code(&self) -> Code {
        match self {
            Self::Address { .. } | Self::NotText { .. } => Code::SpecInvalid,
            Self::Client(error) => error.code(),
            Self::TooLarge { .. } => Code::FileSize,
            Self::Invalid(invalid) => invalid.code(),
            Self::Limit { .. } => Code::RateLimit,
            Self::NotThere { .. } | Self::Refused { .. } | Self::Transfer { .. } | Self::Redirect { .. } => {
                Code::Network
            }
            Self::Server { .. } | Self::Senseless { .. } => Code::ServerFailed,
            Self::Unreachable { .. } | Self::TooSlow { .. } => Code::Unreachable,
            Self::Offline { .. } => Code::Offline,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Code::FileNotFound,
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Code::FilePermission,
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::FileSize,
                _ => Code::File,
            },
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Client(error) => error.hints(),
            Self::Invalid(invalid) => invalid.hints(),
            Self::Address { .. } => vec![format!("an index is a URL or a file; {WHERE}")],
            Self::NotThere { .. } | Self::NotText { .. } | Self::Redirect { .. } | Self::Senseless { .. } => {
                vec![format!("check its address: {WHERE}")]
            }
            Self::Io { verb: "read", .. } => vec![format!("check its path: {WHERE}")],
            Self::Unreachable { .. } | Self::Transfer { .. } => vec![
                "check the network, and the proxy if there is one".into(),
                format!("another index may be nearer: {WHERE}"),
            ],
            Self::Limit { wants_token: true, .. } => {
                vec!["with a token there are 5000 requests an hour: `abx config set github_token`".into()]
            }
            Self::TooSlow { .. } | Self::Server { .. } | Self::Limit { .. } => {
                vec!["try again in a while".into()]
            }
            Self::Offline { .. } => vec!["run once without --offline".into()],
            Self::Refused { .. } | Self::TooLarge { .. } | Self::Io { .. } => Vec::new(),
        }
    }

    fn snippets(&self) -> Vec<Snippet> {
        match self {
            Self::Invalid(invalid) => invalid.snippets(),
            _ => Vec::new(),
        }
    }

    fn others(&self) -> Vec<&dyn Fault> {
        match self {
            Self::Invalid(invalid) => invalid.others(),
            _ => Vec::new(),
        }
    }
}

const WHERE: &str =
    "`--index-url`, ABX_TEMPLATE_INDEX_URL or the setting `template_index_url` says where it is";

fn until(reset: Option<u64>) -> String {
    let time = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    match reset.filter(|seconds| *seconds < 1 << 40).and_then(time) {
        Some(time) => format!(" until {}", humantime::format_rfc3339_seconds(time)),
        None => String::new(),
    }
}
