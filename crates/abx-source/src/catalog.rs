//! The catalog: an index of templates that somebody publishes, at a URL or in a file.
//!
//! [`catalog()`] has it at hand (`location` says where it is): a copy of the last hour is believed, an older one
//! revalidated (`download`), and served with a notice where the other side cannot be asked (`copy`). `find`
//! leads from a name to a reference; [`search`] and [`sentence`] rank templates for people, by their [`card`]s.

pub mod card;
mod copy;
mod download;
pub mod error;
pub(crate) mod find;
mod location;
pub mod search;
pub mod sentence;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abx_core::fs::Lock;
use abx_core::{Event, Progress};
use abx_spec::{Index, Listing, index};

use crate::SourceContext;
use crate::github::GithubSettings;
use copy::{Copies, Copy};
use download::{Answer, Download};
pub use error::CatalogError;
use location::Location;

/// Where the index is unless somebody says otherwise.
pub const DEFAULT_INDEX: &str =
    "https://raw.githubusercontent.com/alibaba-agent-sandbox/awesome-templates/main/awesome-templates.yaml";

/// How long a copy is believed.
pub const FRESH: Duration = Duration::from_secs(3600);

/// An index at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// Where it is from, for messages.
    pub origin: String,
    pub index: Index,
}

impl Catalog {
    /// The template of this name, whichever case it is in.
    pub fn listing(&self, name: &str) -> Option<&Listing> {
        self.index.listings.iter().find(|listing| listing.name.eq_ignore_ascii_case(name))
    }
}

/// Has the index at hand that [`SourceContext::index`] names. A copy of the last hour is believed unless `refresh`.
///
/// # Errors
/// It is not to be had and there is no copy, or it means nothing. Copies stay as they were then.
pub async fn catalog(
    context: &SourceContext,
    refresh: bool,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<Catalog, CatalogError> {
    match Location::parse(&context.index)? {
        Location::File(path) => {
            let path = match path.strip_prefix("~").ok().zip(context.user_home.as_ref()) {
                Some((rest, home)) => home.join(rest),
                None => context.cwd.join(path),
            };
            let text = download::read_file(&path, &context.index)?;
            Catalog::parse(&text, &context.index)
        }
        Location::Url(url) => {
            let copies = Copies::new(&context.home, &url);
            let download = Download { url, settings };
            published(&copies, &download, refresh || settings.no_cache, progress).await
        }
    }
}

async fn published(
    copies: &Copies,
    download: &Download<'_>,
    refresh: bool,
    progress: &dyn Progress,
) -> Result<Catalog, CatalogError> {
    let origin = location::shown(&download.url);
    let is_enough = |copy: &Copy| download.settings.offline || (!refresh && copy.is_fresh(now(), FRESH));
    if let Some(copy) = copies.last().filter(is_enough) {
        return Catalog::parse(&copy.text, &origin);
    }
    if download.settings.offline {
        return Err(CatalogError::Offline { origin });
    }
    // Without a place for a copy, each asks for itself.
    let _one = lock(copies.lock()).await.ok();
    // Another process may have asked while this one waited.
    let last = copies.last();
    if let Some(copy) = last.as_ref().filter(|copy| is_enough(copy)) {
        return Catalog::parse(&copy.text, &origin);
    }
    match download.ask(last.as_ref().and_then(|copy| copy.etag.as_deref())).await {
        Ok(Answer::New { text, etag }) => {
            let catalog = Catalog::parse(&text, &origin)?;
            keep(copies, &Copy { url: download.url.to_string(), etag, fetched: now(), text }, progress);
            Ok(catalog)
        }
        Ok(Answer::Unchanged) => {
            let copy = last.ok_or_else(|| CatalogError::Senseless {
                origin: origin.clone(),
                reason: "304 to a question without a condition",
            })?;
            keep(copies, &Copy { fetched: now(), ..copy.clone() }, progress);
            Catalog::parse(&copy.text, &origin)
        }
        Err(error) => match last.filter(|_| error.is_passing()) {
            Some(copy) => {
                let age = age(now().saturating_sub(copy.fetched));
                progress.event(Event::Warning(format!("{error}; using the copy of {age} ago")));
                Catalog::parse(&copy.text, &origin)
            }
            None => Err(error),
        },
    }
}

/// An index that is here is of use although no copy of it can be kept.
fn keep(copies: &Copies, copy: &Copy, progress: &dyn Progress) {
    if let Err(error) = copies.keep(copy) {
        progress.event(Event::Warning(format!("no copy of the template index is kept: {error}")));
    }
}

impl Catalog {
    fn parse(text: &str, origin: &str) -> Result<Self, CatalogError> {
        Ok(Self { origin: origin.to_owned(), index: index::parse(text, origin)? })
    }
}

/// Waits for a lock without holding up what else this thread has to do.
async fn lock(path: PathBuf) -> Result<Lock, CatalogError> {
    let taken = path.clone();
    let result = tokio::task::spawn_blocking(move || Lock::exclusive(&taken)).await;
    result.map_err(std::io::Error::other).and_then(|lock| lock).map_err(CatalogError::io("lock", &path))
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `3h 20m`: as exact as anybody wants to know.
fn age(seconds: u64) -> String {
    let whole = if seconds < 60 { seconds } else { seconds / 60 * 60 };
    humantime::format_duration(Duration::from_secs(whole)).to_string()
}
