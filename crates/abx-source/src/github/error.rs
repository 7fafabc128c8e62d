//! What can go wrong between a reference to GitHub and its files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use abx_core::{Code, Fault};
use abx_image::ImageError;
use abx_image::http::reqwest;
use abx_reference::{Github, Range, Version};

use super::pace::SLOWEST;
use crate::archive::ArchiveFault;

/// Why a repository is not to be had. No token is ever in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GithubError {
    #[error("the address of GitHub's API is malformed: {address}")]
    ApiAddress { address: String },
    #[error(transparent)]
    Client(Box<ImageError>),
    /// 401, with a token or for lack of one.
    #[error("{host} refused the token for `{repository}`")]
    TokenRefused { host: String, repository: String },
    #[error("the token for GitHub has letters that no token has")]
    TokenMalformed,
    #[error("{host} wants a token for `{repository}`")]
    TokenWanted { host: String, repository: String },
    #[error("{host} forbids access to `{repository}`{}", said(.message))]
    Forbidden { host: String, repository: String, message: String, has_token: bool },
    /// `reset` in seconds since 1970.
    #[error("the hourly limit of requests to {host} is used up{}", until(*.reset))]
    PrimaryLimit { host: String, reset: Option<u64>, has_token: bool },
    #[error("{host} asks for fewer requests at a time")]
    SecondaryLimit { host: String, retry_after: Option<u64> },
    #[error("there is no repository `{repository}` on {host}")]
    NoRepository { host: String, repository: String, has_token: bool },
    /// `instead` is the reference with a longer name that there is.
    #[error("`{repository}` has no branch, tag or commit `{name}`")]
    NoRef { repository: String, name: String, instead: Option<Box<Github>> },
    #[error("`{repository}` has no commit yet")]
    EmptyRepository { repository: String },
    /// `near` highest first.
    #[error("`{}` has no version in the range `{range}`", directory(.repository, .subdirectory.as_deref()))]
    NoVersion {
        repository: String,
        subdirectory: Option<String>,
        range: String,
        near: Vec<String>,
        prerelease: Option<String>,
    },
    #[error("`{repository}` has more than {limit} tags, too many to look for a version among them")]
    TooManyTags { repository: String, limit: usize },
    #[error("{host} failed with status {status}{}", said(.message))]
    Server { host: String, status: u16, message: String },
    #[error("{host} gave an answer that makes no sense: {reason}")]
    Answer { host: String, reason: String },
    #[error("{host} redirects in a circle")]
    Redirects { host: String },
    #[error("cannot reach {host}")]
    Unreachable { host: String, source: reqwest::Error },
    #[error("{host} did not finish within {} seconds", .limit.as_secs_f32())]
    TooSlow { host: String, limit: Duration },
    #[error("nothing came from {host} for {} seconds", .time.as_secs_f32())]
    Silent { host: String, time: Duration },
    #[error("{host} sends fewer than {SLOWEST} bytes a second")]
    Drip { host: String },
    /// What a name stands for changed meanwhile, or something between us and there confuses its answers.
    #[error("{host} sent commit {sent} of `{repository}` in the place of {asked}")]
    OtherCommit { host: String, repository: String, asked: String, sent: String },
    #[error("the transfer from {host} broke off")]
    Transfer { host: String, source: reqwest::Error },
    /// `here` are the versions that are, highest first.
    #[error("`{reference}` is not in the cache, and --offline keeps to this machine")]
    Offline { reference: String, here: Vec<String> },
    #[error("cannot unpack `{repository}` at {commit}: {fault}")]
    Archive {
        repository: String,
        commit: String,
        #[source]
        fault: ArchiveFault,
    },
    #[error("{} went away while it was in use", .path.display())]
    Vanished { path: PathBuf },
    #[error("cannot {verb} {}", .path.display())]
    Io { verb: &'static str, path: PathBuf, source: io::Error },
}

impl GithubError {
    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { verb, path, source }
    }
}

impl Fault for GithubError {
    fn code(&self) -> Code {
        match self {
            Self::ApiAddress { .. } => Code::SpecInvalid,
            Self::Client(error) => error.code(),
            Self::TokenRefused { .. } | Self::TokenWanted { .. } | Self::TokenMalformed => Code::GithubToken,
            Self::Forbidden { .. } => Code::GithubForbidden,
            Self::PrimaryLimit { .. } => Code::RateLimit,
            Self::Transfer { .. } | Self::Redirects { .. } => Code::Network,
            Self::SecondaryLimit { .. } => Code::GithubSecondary,
            Self::NoRepository { .. } | Self::NoRef { .. } | Self::EmptyRepository { .. } => {
                Code::TemplateNotFound
            }
            Self::NoVersion { .. } | Self::TooManyTags { .. } => Code::NoVersion,
            Self::Server { .. } | Self::Answer { .. } | Self::OtherCommit { .. } => Code::ServerFailed,
            Self::Unreachable { .. } | Self::TooSlow { .. } | Self::Silent { .. } | Self::Drip { .. } => {
                Code::Unreachable
            }
            Self::Offline { .. } => Code::Offline,
            Self::Archive { fault, .. } => fault.code(),
            Self::Vanished { .. } => Code::File,
            Self::Io { source, .. } => Code::of_file(source),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::ApiAddress { .. } => {
                vec!["ABX_GITHUB_API_URL is an http or https address such as `https://HOST/api/v3`".into()]
            }
            Self::Client(error) => error.hints(),
            Self::TokenRefused { .. } => {
                vec!["it may have expired or been revoked: make a new one, and set GITHUB_TOKEN or `abx config set github_token`".into()]
            }
            Self::TokenMalformed => vec!["copy it again, without quotes and line breaks".into()],
            Self::TokenWanted { .. } => vec![SET_TOKEN.into()],
            Self::Forbidden { has_token: false, .. } => {
                vec![format!("a private repository needs a token: {SET_TOKEN}")]
            }
            Self::Forbidden { has_token: true, .. } => {
                vec!["the token needs read access to the repository's contents, and an organisation may have to allow it".into()]
            }
            Self::PrimaryLimit { has_token: false, .. } => {
                vec![
                    format!("with a token there are 5000 requests an hour instead of 60: {SET_TOKEN}"),
                    OFFLINE.into(),
                ]
            }
            Self::PrimaryLimit { has_token: true, .. } => vec![OFFLINE.into()],
            Self::SecondaryLimit { retry_after, .. } => match retry_after {
                Some(seconds) => vec![format!("try again in {seconds} seconds")],
                None => vec!["try again in a minute".into()],
            },
            Self::NoRepository { has_token: false, .. } => {
                vec![format!("check the spelling; for a private repository {SET_TOKEN}")]
            }
            Self::NoRepository { has_token: true, .. } => {
                vec!["check the spelling, and that the token may read the repository".into()]
            }
            Self::NoRef { instead: Some(instead), .. } => {
                let name = instead.git_ref().map(ToString::to_string).unwrap_or_default();
                vec![format!("there is a branch or tag `{name}`: write `{instead}`")]
            }
            Self::NoRef { repository, name, .. } => match as_range(name) {
                Some(range) => vec![format!(
                    "`@{range}` looks for that version among the tags, however they are written"
                )],
                None => vec![format!("`{repository}` alone means its default branch")],
            },
            Self::NoVersion { repository, subdirectory, near, prerelease, .. } => {
                let directory = directory(repository, subdirectory.as_deref());
                version_hints(&directory, near, prerelease.as_deref())
            }
            Self::TooManyTags { repository, .. } => vec![format!("name one: `{repository}@v1.2.3`")],
            Self::Server { .. }
            | Self::TooSlow { .. }
            | Self::Silent { .. }
            | Self::Drip { .. }
            | Self::Transfer { .. } => {
                vec!["try again in a while".into(), OFFLINE.into()]
            }
            Self::Unreachable { .. } => {
                vec!["check the network, and the proxy if there is one".into(), OFFLINE.into()]
            }
            Self::Offline { here, .. } if !here.is_empty() => {
                vec![format!("what is here is `{}`", here.join("`, `")), ONLINE.into()]
            }
            Self::Offline { .. } => vec![ONLINE.into()],
            Self::Archive { fault, .. } => fault.hints(),
            Self::Answer { .. } | Self::OtherCommit { .. } | Self::Redirects { .. } => {
                vec!["check ABX_GITHUB_API_URL, and the proxy if there is one".into()]
            }
            Self::Io { .. } => self.code().home_hints(),
            Self::EmptyRepository { .. } | Self::Vanished { .. } => Vec::new(),
        }
    }
}

const SET_TOKEN: &str = "set GITHUB_TOKEN, or store one with `abx config set github_token`";
const ONLINE: &str = "run once without --offline";
const OFFLINE: &str = "`--offline` uses what was fetched before";

/// The range that means what somebody who writes a version where there is no such tag may mean.
fn as_range(name: &str) -> Option<Range> {
    Version::parse(name)?;
    let numbers = name.trim_start_matches(['v', 'V']);
    let is_full = numbers.split(['-', '+']).next()?.matches('.').count() == 2;
    Range::parse(&format!("{}{numbers}", if is_full { "=" } else { "~" })).ok()
}

fn version_hints(directory: &str, near: &[String], prerelease: Option<&str>) -> Vec<String> {
    let mut hints = match (near, directory.split_once("//")) {
        ([], None) => vec!["it has no release: one is a tag such as `v1.2.0`".to_owned()],
        ([], Some((_, path))) => {
            let name = path.rsplit('/').next().unwrap_or(path);
            vec![format!(
                "it has no release: one is a tag such as `{name}-v1.2.0`, or `v1.2.0` where there is none"
            )]
        }
        (near, _) => vec![format!("the nearest are `{}`", near.join("`, `"))],
    };
    hints.extend(prerelease.map(|tag| format!("a pre-release has to be named: `{directory}@{tag}`")));
    hints
}

fn directory(repository: &str, subdirectory: Option<&str>) -> String {
    subdirectory.map_or_else(|| repository.to_owned(), |path| format!("{repository}//{path}"))
}

fn said(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn until(reset: Option<u64>) -> String {
    let time = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    match reset.filter(|seconds| *seconds < 1 << 40).and_then(time) {
        Some(time) => format!(" until {}", humantime::format_rfc3339_seconds(time)),
        None => String::new(),
    }
}
