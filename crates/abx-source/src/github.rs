//! A repository at one commit, fetched once and kept: the only module here that reaches the network.
//!
//! [`checkout()`] pins the reference (`pin`): what it stands for is `known`, or asked of the `api`, or chosen among the
//! `tags` that are `versions`. It looks for the commit in the store (`cache`), and where it is not there downloads and
//! extracts it (`download`, at a bearable `pace`). `released` lists what there is to choose from. [`error`] tells what
//! can go wrong.

mod api;
mod cache;
mod download;
pub mod error;
mod escape;
mod known;
mod pace;
mod pin;
mod released;
mod tags;
mod versions;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_core::fs::Lock;
use abx_core::host::HostNetwork;
use abx_core::{Event, Home, Progress, Secret};
use abx_reference::Github;

use crate::archive::Caps;
pub(crate) use download::{warnings, write_out};
pub use error::GithubError;
pub use pin::Pinned;
use pin::Pinner;
pub use released::{Released, releases};
pub(crate) use tags::FILE as TAGS;

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
    /// As it was asked for.
    pub reference: Github,
    /// Forty hexadecimal digits.
    pub commit: String,
    /// The tag that a range or `latest` has chosen.
    pub chosen: Option<String>,
    /// When the commit was made, in seconds since 1970, where that is known.
    pub committed: Option<i64>,
    /// The repository's files; absolute and without links. Nobody writes there.
    pub root: PathBuf,
}

impl Checkout {
    /// Whether it is what `reference` asks for.
    pub fn serves(&self, reference: &Github) -> bool {
        self.reference.is_pinned_with(reference)
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
    let pinner = Pinner::new(reference, home, settings)?;
    // Most of the time all is there, and no lock is taken.
    if !settings.no_cache
        && let Some(pinned) = pinner.known()
        && let Some(found) = kept(&pinner, reference, &pinned)?
    {
        return Ok(found);
    }
    if settings.offline {
        return Err(pinner.offline());
    }
    let api = pinner.api()?;
    let pinned = pinner.ask(&api).await?;
    if let Some(note) = pinner.note(&pinned) {
        progress.event(Event::Note(note));
    }
    let cache = pinner.cache(pinned.name.as_deref());
    let _same = lock(cache.commit_lock(&pinned.commit)).await?;
    if !settings.no_cache
        && let Some(found) = kept(&pinner, reference, &pinned)?
    {
        return Ok(found);
    }
    let warnings = download::download(&api, reference, &pinned.commit, &cache, settings, progress).await?;
    for warning in warnings {
        progress.event(Event::Warning(warning));
    }
    kept(&pinner, reference, &pinned)?
        .ok_or_else(|| GithubError::Vanished { path: cache.entry(&pinned.commit) })
}

/// What is on disk whole, where people see it too.
fn kept(pinner: &Pinner, reference: &Github, pinned: &Pinned) -> Result<Option<Checkout>, GithubError> {
    let cache = pinner.cache(pinned.name.as_deref());
    let Some(root) = cache.tree(&pinned.commit)? else { return Ok(None) };
    cache.show(&pinned.commit)?;
    let chosen = pinned.name.clone().filter(|_| pinned.is_chosen);
    let (commit, committed) = (pinned.commit.clone(), cache.committed(&pinned.commit));
    Ok(Some(Checkout { reference: reference.clone(), commit, chosen, committed, root }))
}

/// Says which commit a reference stands for now, without fetching it.
///
/// # Errors
/// As for [`checkout()`].
pub async fn pin(reference: &Github, home: &Home, settings: &GithubSettings) -> Result<Pinned, GithubError> {
    let pinner = Pinner::new(reference, home, settings)?;
    match pinner.known() {
        Some(known) => Ok(known),
        None if settings.offline => Err(pinner.offline()),
        None => pinner.ask(&pinner.api()?).await,
    }
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
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
