//! How to reach GitHub, and with which token.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use abx_core::Secret;
use abx_source::GithubSettings;

use crate::settings::folder::Folder;
use crate::settings::secrets;
use crate::{Context, FetchOptions};

/// The variable, in the environment and in a working folder's `.env`.
pub(crate) const TOKEN_VARIABLE: &str = "GITHUB_TOKEN";
/// The stored secret.
const STORED: &str = "github_token";

/// A `.env` has no reason to be larger.
const FILE_CAP: u64 = 64 << 10;

/// Where a token for GitHub comes from; the first there is counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSource {
    /// The caller.
    Given,
    /// The environment.
    Environment,
    /// `./.env`.
    WorkingFolder,
    /// `~/.abx/.env`.
    Stored,
}

pub(crate) fn settings(context: &Context, options: &FetchOptions) -> GithubSettings {
    GithubSettings {
        api: context.github_api.clone(),
        token: token(context, options.token.as_ref()).map(|(token, _)| token),
        network: context.host.clone(),
        cache_ttl: Duration::from_secs(context.settings.cache_ttl),
        caps: (&context.settings.archive).into(),
        offline: options.offline,
        no_cache: options.no_cache,
        ..GithubSettings::default()
    }
}

/// The token that an operation would use which is given none.
pub fn token_source(context: &Context) -> Option<TokenSource> {
    token(context, None).map(|(_, source)| source)
}

fn token(context: &Context, given: Option<&Secret>) -> Option<(Secret, TokenSource)> {
    let from = |source| move |token| (token, source);
    let blank = |token: &&Secret| !token.expose().trim().is_empty();
    given
        .cloned()
        .map(from(TokenSource::Given))
        .or_else(|| context.github_token.as_ref().filter(blank).cloned().map(from(TokenSource::Environment)))
        .or_else(|| working_folder_token(&context.cwd).map(from(TokenSource::WorkingFolder)))
        .or_else(|| stored_token(context.user_home.as_deref()?).map(from(TokenSource::Stored)))
}

/// The token in the `.env` of a folder, of which nothing else is read.
pub(crate) fn working_folder_token(folder: &Path) -> Option<Secret> {
    // Whatever lies there, a FIFO say, must not hold us up.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(folder.join(".env")).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > FILE_CAP {
        return None;
    }
    let mut text = String::new();
    file.take(FILE_CAP).read_to_string(&mut text).ok()?;
    secrets::value(&text, |name| name == TOKEN_VARIABLE)
}

fn stored_token(home: &Path) -> Option<Secret> {
    // What is wrong with it, `abx config` tells.
    let text = Folder::open(home).ok()??.secrets().ok()?;
    secrets::stored(&text, secrets::secret(STORED)?)
}
