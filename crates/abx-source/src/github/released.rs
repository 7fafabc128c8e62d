//! Which releases a repository has, for people to look at.

use abx_core::Home;
use abx_reference::{Github, Version};

use super::api::{self, Api};
use super::cache::Cache;
use super::tags::TagList;
use super::versions::Versions;
use super::{GithubError, GithubSettings, lock, now};

/// A tag that is a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    /// The tag's name.
    pub tag: String,
    pub version: Version,
    /// `None` where another question would be needed to tell it.
    pub commit: Option<String>,
}

/// The releases of the sub-directory, or of the repository, highest first; `[]` offline where nothing is known.
///
/// # Errors
/// Whatever [`GithubError`] says.
pub async fn releases(
    reference: &Github,
    home: &Home,
    settings: &GithubSettings,
) -> Result<Vec<Released>, GithubError> {
    let list = list(reference, home, settings).await?;
    let tags = list.map(|list| list.tags).unwrap_or_default();
    let versions = Versions::of(&tags, reference.subdirectory());
    let released = versions.descending().map(|(tag, version)| Released {
        tag: tag.name.clone(),
        version: version.clone(),
        commit: tag.commit().map(str::to_owned),
    });
    Ok(released.collect())
}

async fn list(
    reference: &Github,
    home: &Home,
    settings: &GithubSettings,
) -> Result<Option<TagList>, GithubError> {
    let base = api::base(&settings.api)?;
    let cache = Cache::new(home, &api::shown_host(&base), reference, None);
    let file = cache.tag_file();
    let is_enough =
        |list: &TagList| settings.offline || (!settings.no_cache && list.is_fresh(now(), settings.cache_ttl));
    let known = file.read();
    if settings.offline || known.as_ref().is_some_and(is_enough) {
        return Ok(known);
    }
    let _one = lock(cache.tags_lock()).await?;
    let known = file.read();
    if known.as_ref().is_some_and(is_enough) {
        return Ok(known);
    }
    let before = known.filter(|_| !settings.no_cache);
    let api = Api::new(&base, settings)?;
    let list = match (api.tags(reference, before.as_ref()).await?, before) {
        (Some(list), before) => {
            TagList { without_latest: before.and_then(|before| before.without_latest), ..list }
        }
        (None, Some(before)) => TagList { checked: now(), ..before },
        (None, None) => return Err(api.unconditional()),
    };
    file.write(&list)?;
    Ok(Some(list))
}
