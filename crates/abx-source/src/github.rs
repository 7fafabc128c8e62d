//! A repository at one commit, fetched once and kept: the only module here that reaches the network.
//!
//! [`checkout()`] pins the reference ([`api`]), looks for the commit in the store ([`cache`]), and where it is not
//! there downloads and extracts it ([`download`]). [`error`] tells what can go wrong.

mod api;
mod cache;
mod download;
pub mod error;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_core::fs::Lock;
use abx_core::host::HostNetwork;
use abx_core::{Event, Home, Progress, Secret};
use abx_reference::Github;
use abx_reference::github::GitRef;

use crate::archive::Caps;
use api::{Api, Found};
use cache::{Cache, Pin};
pub use error::GithubError;

/// The public API.
pub const PUBLIC_API: &str = "https://api.github.com";

/// How long the commit that a branch or tag stands for is believed.
pub const CACHE_TTL: Duration = Duration::from_secs(600);

/// How to reach GitHub, and how much to believe what is known already.
#[derive(Clone, Debug)]
pub struct GithubSettings {
    /// Base address of the API.
    pub api: String,
    /// Sent to the API's host and its archive host, nowhere else.
    pub token: Option<Secret>,
    pub network: HostNetwork,
    /// After this a branch or tag is asked for again.
    pub cache_ttl: Duration,
    /// How long the other side may be silent.
    pub silence: Duration,
    pub caps: Caps,
    /// Never leave this machine.
    pub offline: bool,
    /// Fetch although it is known.
    pub no_cache: bool,
}

impl Default for GithubSettings {
    fn default() -> Self {
        Self {
            api: PUBLIC_API.to_owned(),
            token: None,
            network: HostNetwork::default(),
            cache_ttl: CACHE_TTL,
            silence: abx_image::http::SILENCE_TIMEOUT,
            caps: Caps::default(),
            offline: false,
            no_cache: false,
        }
    }
}

/// A repository at one commit, on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// As it was asked for; its sub-directory plays no part.
    pub reference: Github,
    /// Forty hexadecimal digits.
    pub commit: String,
    /// The repository's files; absolute and without links. Nobody writes there.
    pub root: PathBuf,
}

impl Checkout {
    /// Whether it is what `reference` asks for, whichever sub-directory.
    pub fn serves(&self, reference: &Github) -> bool {
        self.reference.owner().eq_ignore_ascii_case(reference.owner())
            && self.reference.repository().eq_ignore_ascii_case(reference.repository())
            && self.reference.git_ref() == reference.git_ref()
    }
}

/// Has the repository on disk at the commit its reference stands for now.
///
/// Processes that want the same one at the same time ask and fetch once.
///
/// # Errors
/// Whatever [`GithubError`] says; the store is as it was then.
pub async fn checkout(
    reference: &Github,
    home: &Home,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<Checkout, GithubError> {
    let name = match reference.git_ref() {
        None => None,
        Some(GitRef::Name(name)) => Some(name.as_str()),
        Some(GitRef::Range(range)) => {
            return Err(GithubError::Range { repository: repository(reference), range: range.to_string() });
        }
    };
    let base = api::base(&settings.api)?;
    let cache = Cache::new(home, &api::shown_host(&base), reference, name);
    let known = |pin: &Pin| settings.offline || pin.is_fresh(now(), settings.cache_ttl);
    let checkout = |commit: &str| cache.checkout(reference, commit);
    // Most of the time all is there, and no lock is taken.
    if !settings.no_cache
        && let Some(pin) = cache.pin().filter(known)
        && let Some(found) = checkout(&pin.commit)?
    {
        cache.show(&pin.commit)?;
        return Ok(found);
    }
    if settings.offline {
        return Err(GithubError::Offline { reference: reference.to_string() });
    }
    let api = Api::new(&base, settings)?;
    let _one = lock(cache.ref_lock()).await?;
    let commit = match cache.pin().filter(|pin| !settings.no_cache && known(pin)) {
        Some(pin) => pin.commit,
        None => pin(&api, reference, name, &cache, settings).await?,
    };
    let _same = lock(cache.commit_lock(&commit)).await?;
    let kept = if settings.no_cache { None } else { checkout(&commit)? };
    let found = match kept {
        Some(found) => found,
        None => {
            let response = api.tarball(reference, &commit).await?;
            for warning in
                download::download(response, reference, &commit, &cache, settings, progress).await?
            {
                progress.event(Event::Warning(warning));
            }
            checkout(&commit)?.ok_or_else(|| GithubError::Vanished { path: cache.entry(&commit) })?
        }
    };
    cache.show(&commit)?;
    Ok(found)
}

/// Asks what the reference stands for and remembers it. A commit stands for itself.
async fn pin(
    api: &Api,
    reference: &Github,
    name: Option<&str>,
    cache: &Cache,
    settings: &GithubSettings,
) -> Result<String, GithubError> {
    if let Some(pin) = cache.pin().filter(|pin| pin.is_commit) {
        return Ok(pin.commit);
    }
    // What is known is of use only while its files are there.
    let before = cache.pin().filter(|pin| !settings.no_cache && cache.is_complete(&pin.commit));
    let etag = before.as_ref().and_then(|pin| pin.etag.as_deref());
    let pin = match (api.commit(reference, name, etag).await?, &before) {
        (Found::Commit { commit, etag }, _) => Pin { commit, etag, checked: now(), is_commit: false },
        (Found::Unchanged, Some(before)) => Pin { checked: now(), ..before.clone() },
        (Found::Unchanged, None) => {
            return Err(GithubError::Answer {
                host: api.host(),
                reason: "304 to a question without a condition".to_owned(),
            });
        }
    };
    cache.remember(&pin)?;
    Ok(pin.commit)
}

/// Waits for a lock without holding up what else this thread has to do.
async fn lock(path: PathBuf) -> Result<Lock, GithubError> {
    let taken = path.clone();
    let result = tokio::task::spawn_blocking(move || Lock::exclusive(&taken)).await;
    result.map_err(std::io::Error::other).and_then(|lock| lock).map_err(GithubError::io("lock", &path))
}

/// `owner/repo`, as the user writes it.
fn repository(reference: &Github) -> String {
    format!("{}/{}", reference.owner(), reference.repository())
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
