//! What a reference stands for now: a commit, and the branch or tag that led to it.
//!
//! | reference | led to by | known from |
//! |---|---|---|
//! | `o/r` | the default branch | its pin |
//! | `o/r@name` | the branch or tag | its pin; a full commit id is one by itself |
//! | `o/r@^1.2` | the best tag ([`versions`](super::versions)) | the list of tags |
//! | `o/r@latest` | what is called so, else the highest release, else the default branch | all of these |
//!
//! A list of tags serves every range over its repository until it is old; one that has no fit is asked for anew, since
//! the version may have been published a moment ago.

use abx_core::Home;
use abx_image::http::reqwest::Url;
use abx_reference::Github;
use abx_reference::github::{GitRef, LATEST};

use super::api::{self, Api, Found};
use super::cache::{Cache, Pin, is_young};
use super::tags::{Tag, TagFile, TagList};
use super::versions::{Versions, Wanted};
use super::{GithubError, GithubSettings, lock, now, repository};

/// So many longer names are tried for one that is missing.
const SPLITS: usize = 3;

/// What a reference stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// Forty hexadecimal digits.
    pub commit: String,
    /// The branch or tag that led there; `None` for the default branch.
    pub name: Option<String>,
    /// Whether a range or `latest` has chosen the name.
    pub is_chosen: bool,
}

/// One reference and all that is needed to pin it.
pub(super) struct Pinner<'a> {
    reference: &'a Github,
    home: &'a Home,
    settings: &'a GithubSettings,
    base: Url,
    tags: TagFile,
}

impl<'a> Pinner<'a> {
    pub(super) fn new(
        reference: &'a Github,
        home: &'a Home,
        settings: &'a GithubSettings,
    ) -> Result<Self, GithubError> {
        let base = api::base(&settings.api)?;
        let tags = Cache::new(home, &api::shown_host(&base), reference, None).tag_file();
        Ok(Self { reference, home, settings, base, tags })
    }

    /// Where a name of this repository is kept; without one, the default branch.
    pub(super) fn cache(&self, name: Option<&str>) -> Cache {
        Cache::new(self.home, &api::shown_host(&self.base), self.reference, name)
    }

    pub(super) fn api(&self) -> Result<Api, GithubError> {
        Api::new(&self.base, self.settings)
    }

    /// What is known, and believed as the settings have it. Offline it is what is on disk whole.
    pub(super) fn known(&self) -> Option<Pinned> {
        match self.reference.git_ref() {
            None => self.known_name(None),
            Some(GitRef::Name(name)) if name == LATEST => self.known_latest(),
            Some(GitRef::Name(name)) => self.known_name(Some(name)),
            Some(GitRef::Range(range)) => self.known_choice(Wanted::Range(range)),
        }
    }

    /// Asks, and remembers the answer. Processes that want the same do so once.
    pub(super) async fn ask(&self, api: &Api) -> Result<Pinned, GithubError> {
        let wanted = match self.reference.git_ref() {
            None => None,
            Some(GitRef::Name(name)) => Some(name.as_str()),
            Some(GitRef::Range(range)) => {
                let _one = lock(self.cache(None).tags_lock()).await?;
                return match self.known() {
                    Some(known) => Ok(known),
                    None => self
                        .choose(api, Wanted::Range(range))
                        .await?
                        .map_err(|list| GithubError::no_version(self.reference, range, &list.tags)),
                };
            }
        };
        let _one = lock(self.cache(wanted).ref_lock()).await?;
        match self.known() {
            Some(known) => Ok(known),
            None if wanted == Some(LATEST) => self.latest(api).await,
            None => self.name(api, wanted).await,
        }
    }

    /// Why nothing is known offline.
    pub(super) fn offline(&self) -> GithubError {
        let here = match self.reference.git_ref() {
            Some(GitRef::Range(range)) => {
                Versions::of(&self.tags_here(), self.reference.subdirectory()).near(range)
            }
            _ => Vec::new(),
        };
        GithubError::Offline { reference: self.reference.to_string(), here }
    }

    /// Asks for a literal name.
    async fn name(&self, api: &Api, name: Option<&str>) -> Result<Pinned, GithubError> {
        let before = self.before(name);
        let etag = before.as_ref().and_then(|pin| pin.etag.as_deref());
        match api.commit(self.reference, name, etag).await {
            Ok(found) => self.found(api, name, found, before),
            Err(GithubError::NoRef { repository, name, .. }) => {
                Err(GithubError::NoRef { repository, name, instead: self.instead(api).await?.map(Box::new) })
            }
            Err(error) => Err(error),
        }
    }

    /// A branch whose name has a `/` cannot be told from a directory in an address copied from a browser.
    async fn instead(&self, api: &Api) -> Result<Option<Github>, GithubError> {
        for longer in self.reference.longer_refs().take(SPLITS) {
            let name = longer.git_ref().map(ToString::to_string).unwrap_or_default();
            if api.commit_if_any(self.reference, &name, None).await?.is_some() {
                return Ok(Some(longer));
            }
        }
        Ok(None)
    }

    /// What is called `latest`, else the highest release, else the default branch.
    async fn latest(&self, api: &Api) -> Result<Pinned, GithubError> {
        let before = self.before(Some(LATEST));
        let etag = before.as_ref().and_then(|pin| pin.etag.as_deref());
        if let Some(found) = api.commit_if_any(self.reference, LATEST, etag).await? {
            return self.found(api, Some(LATEST), found, before);
        }
        self.cache(Some(LATEST)).forget()?;
        let chosen = {
            let _one = lock(self.cache(None).tags_lock()).await?;
            self.choose(api, Wanted::Latest).await?
        };
        match chosen {
            Ok(chosen) => Ok(chosen),
            Err(_) => match self.known_name(None) {
                Some(known) => Ok(known),
                None => self.name(api, None).await,
            },
        }
    }

    /// What is known is of use only while its files are there.
    fn before(&self, name: Option<&str>) -> Option<Pin> {
        let cache = self.cache(name);
        cache.pin().filter(|pin| !self.settings.no_cache && cache.is_complete(&pin.commit))
    }

    fn found(
        &self,
        api: &Api,
        name: Option<&str>,
        found: Found,
        before: Option<Pin>,
    ) -> Result<Pinned, GithubError> {
        let pin = match (found, before) {
            (Found::Commit { commit, etag }, _) => Pin { commit, etag, checked: now(), is_commit: false },
            (Found::Unchanged, Some(before)) => Pin { checked: now(), ..before },
            (Found::Unchanged, None) => return Err(api.unconditional()),
        };
        self.cache(name).remember(&pin)?;
        Ok(Pinned { commit: pin.commit, name: name.map(str::to_owned), is_chosen: false })
    }

    /// The best tag, of the list that is known or a new one; else the list that has none. The caller holds its lock.
    async fn choose(&self, api: &Api, wanted: Wanted<'_>) -> Result<Result<Pinned, TagList>, GithubError> {
        let before = self.tags.read().filter(|_| !self.settings.no_cache);
        let fresh =
            before.clone().filter(|list| self.believes(list) && self.best(&list.tags, wanted).is_some());
        let mut list = match (fresh, before) {
            (Some(fresh), _) => fresh,
            (None, before) => match (api.tags(self.reference, before.as_ref()).await?, before) {
                (Some(list), before) => {
                    TagList { without_latest: before.and_then(|before| before.without_latest), ..list }
                }
                (None, Some(before)) => TagList { checked: now(), ..before },
                (None, None) => return Err(api.unconditional()),
            },
        };
        if matches!(wanted, Wanted::Latest) {
            list.without_latest = Some(now());
        }
        let best = self.best(&list.tags, wanted).cloned();
        if let Some(best) = &best
            && best.is_object
        {
            let commit = api.tagged(self.reference, best).await?;
            list.tags.iter_mut().filter(|tag| *tag == best).for_each(|tag| {
                *tag = Tag::new(tag.name.clone(), commit.clone());
            });
        }
        self.tags.write(&list)?;
        let Some(best) = self.best(&list.tags, wanted).and_then(chosen) else { return Ok(Err(list)) };
        self.remember(&best, &list)?;
        Ok(Ok(best))
    }

    /// The tag by its name need not be asked for then.
    fn remember(&self, chosen: &Pinned, list: &TagList) -> Result<(), GithubError> {
        let cache = self.cache(chosen.name.as_deref());
        let etag = cache.pin().filter(|pin| pin.commit == chosen.commit).and_then(|pin| pin.etag);
        cache.remember(&Pin { commit: chosen.commit.clone(), etag, checked: list.checked, is_commit: false })
    }

    fn known_name(&self, name: Option<&str>) -> Option<Pinned> {
        let believes = |pin: &Pin| {
            let is_young = !self.settings.no_cache && pin.is_fresh(now(), self.settings.cache_ttl);
            pin.is_commit || self.settings.offline || is_young
        };
        let pin = self.cache(name).pin().filter(believes)?;
        Some(Pinned { commit: pin.commit, name: name.map(str::to_owned), is_chosen: false })
    }

    fn known_latest(&self) -> Option<Pinned> {
        if let Some(known) = self.known_name(Some(LATEST)) {
            return Some(known);
        }
        if self.settings.offline {
            return self.known_choice(Wanted::Latest).or_else(|| self.known_name(None));
        }
        let list = self.tags.read().filter(|list| self.believes(list))?;
        let is_seen = |seen| is_young(seen, now(), self.settings.cache_ttl);
        list.without_latest.filter(|seen| is_seen(*seen))?;
        match self.best(&list.tags, Wanted::Latest) {
            Some(best) => chosen(best),
            None => self.known_name(None),
        }
    }

    fn known_choice(&self, wanted: Wanted) -> Option<Pinned> {
        let tags = match self.settings.offline {
            true => self.tags_here(),
            false => self.tags.read().filter(|list| self.believes(list))?.tags,
        };
        self.best(&tags, wanted).and_then(chosen)
    }

    /// The tags whose files are here: better an older version than none. Where they were never listed, the names that
    /// were asked for stand in, of which a branch may look like a version too.
    fn tags_here(&self) -> Vec<Tag> {
        let cache = self.cache(None);
        let mut tags = match self.tags.read() {
            Some(list) => list.tags,
            None => cache.pinned_names().into_iter().map(|(name, pin)| Tag::new(name, pin.commit)).collect(),
        };
        tags.retain(|tag| tag.commit().is_some_and(|commit| cache.is_complete(commit)));
        tags
    }

    fn believes(&self, list: &TagList) -> bool {
        let is_fresh = !self.settings.no_cache && list.is_fresh(now(), self.settings.cache_ttl);
        self.settings.offline || is_fresh
    }

    fn best<'b>(&self, tags: &'b [Tag], wanted: Wanted) -> Option<&'b Tag> {
        Versions::of(tags, self.reference.subdirectory()).choose(wanted)
    }
}

/// A tag as what was chosen; `None` while its commit has to be asked for.
fn chosen(tag: &Tag) -> Option<Pinned> {
    let commit = tag.commit()?.to_owned();
    Some(Pinned { commit, name: Some(tag.name.clone()), is_chosen: true })
}

impl GithubError {
    fn no_version(reference: &Github, range: &abx_reference::Range, tags: &[Tag]) -> Self {
        let versions = Versions::of(tags, reference.subdirectory());
        Self::NoVersion {
            repository: repository(reference),
            subdirectory: reference.subdirectory().map(str::to_owned),
            range: range.to_string(),
            near: versions.near(range),
            prerelease: versions.prerelease(range).map(str::to_owned),
        }
    }
}
