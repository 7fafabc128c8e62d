//! Which releases a repository has, for people to look at.

use abx_core::Home;
use abx_reference::{Github, Version};

use super::pin::Pinner;
use super::tags::TagList;
use super::versions::Versions;
use super::{GithubError, GithubSettings, lock};

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
    let pinner = Pinner::new(reference, home, settings)?;
    let known = || pinner.tags.read().filter(|list| pinner.believes(list));
    let found = known();
    if settings.offline || found.is_some() {
        return Ok(found);
    }
    let _one = lock(pinner.cache(None).tags_lock()).await?;
    if let Some(list) = known() {
        return Ok(Some(list));
    }
    let list = pinner.listed(&pinner.api()?).await?;
    pinner.tags.write(&list)?;
    Ok(Some(list))
}
