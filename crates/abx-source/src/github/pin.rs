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
use abx_reference::github::{GitRef, LATEST};
use abx_reference::{Github, Range};

use super::api::{self, Api, Found};
use super::cache::{Cache, Pin};
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

impl Pinned {
    /// `None` while the tag's commit has to be asked for.
    pub(super) fn chosen(tag: &Tag) -> Option<Self> {
        let commit = tag.commit()?.to_owned();
        Some(Self { commit, name: Some(tag.name.clone()), is_chosen: true })
    }
}

/// One reference and all that is needed to pin it.
pub(super) struct Pinner<'a> {
    pub(super) reference: &'a Github,
    pub(super) settings: &'a GithubSettings,
    pub(super) tags: TagFile,
    home: &'a Home,
    base: Url,
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

    /// Asks, and remembers the answer. Processes that want the same do so once.
    pub(super) async fn ask(&self, api: &Api) -> Result<Pinned, GithubError> {
        let pinned = match self.reference.git_ref() {
            None => self.ask_name(api, None).await?,
            Some(GitRef::Name(name)) => self.ask_name(api, Some(name)).await?,
            Some(GitRef::Range(range)) => self.ask_range(api, range).await?,
        };
        self.remember(&pinned)?;
        Ok(pinned)
    }

    async fn ask_name(&self, api: &Api, name: Option<&str>) -> Result<Pinned, GithubError> {
        let _one = lock(self.cache(name).ref_lock()).await?;
        match self.known() {
            Some(known) => Ok(known),
            None if name == Some(LATEST) => self.latest(api).await,
            None => self.name(api, name).await,
        }
    }

    async fn ask_range(&self, api: &Api, range: &Range) -> Result<Pinned, GithubError> {
        let _one = lock(self.cache(None).tags_lock()).await?;
        let pinned = match self.known() {
            Some(known) => Some(known),
            None => self.choose(api, Wanted::Range(range)).await?,
        };
        pinned.ok_or_else(|| self.no_version(range))
    }

    /// What a range or `latest` has come to, for people.
    pub(super) fn note(&self, pinned: &Pinned) -> Option<String> {
        let is_latest = matches!(self.reference.git_ref(), Some(GitRef::Name(name)) if name == LATEST);
        match &pinned.name {
            Some(name) if pinned.is_chosen => Some(format!("{} is {name}", self.reference)),
            None if is_latest => {
                Some(format!("{} is the default branch, since there is no release", self.reference))
            }
            _ => None,
        }
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
        match chosen.or_else(|| self.known_name(None)) {
            Some(pinned) => Ok(pinned),
            None => self.name(api, None).await,
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

    /// The best tag, of the list that is known or of a new one; `None` where there is none. The caller holds the list's
    /// lock.
    async fn choose(&self, api: &Api, wanted: Wanted<'_>) -> Result<Option<Pinned>, GithubError> {
        let mut list = self.list(api, wanted).await?;
        if matches!(wanted, Wanted::Latest) {
            list.without_latest = Some(now());
        }
        if let Some(best) = self.best(&list.tags, wanted).filter(|best| best.is_object).cloned() {
            let commit = Tag::new(best.name.clone(), api.tagged(self.reference, &best).await?);
            list.tags.iter_mut().filter(|tag| **tag == best).for_each(|tag| *tag = commit.clone());
        }
        self.tags.write(&list)?;
        Ok(self.best(&list.tags, wanted).and_then(Pinned::chosen))
    }

    /// The tags as they are known, where that is enough; else as they are now.
    async fn list(&self, api: &Api, wanted: Wanted<'_>) -> Result<TagList, GithubError> {
        let known = self.tags.read().filter(|list| self.believes(list));
        match known.filter(|list| self.best(&list.tags, wanted).is_some()) {
            Some(list) => Ok(list),
            None => self.listed(api).await,
        }
    }

    /// The tags as they are now.
    pub(super) async fn listed(&self, api: &Api) -> Result<TagList, GithubError> {
        let before = self.tags.read().filter(|_| !self.settings.no_cache);
        match (api.tags(self.reference, before.as_ref()).await?, before) {
            (Some(list), before) => {
                Ok(TagList { without_latest: before.and_then(|before| before.without_latest), ..list })
            }
            (None, Some(before)) => Ok(TagList { checked: now(), ..before }),
            (None, None) => Err(api.unconditional()),
        }
    }

    /// A tag that was chosen need not be asked for by its name then, for as long as its list holds.
    fn remember(&self, pinned: &Pinned) -> Result<(), GithubError> {
        let Some(list) = self.tags.read().filter(|_| pinned.is_chosen) else { return Ok(()) };
        let cache = self.cache(pinned.name.as_deref());
        let etag = cache.pin().filter(|pin| pin.commit == pinned.commit).and_then(|pin| pin.etag);
        cache.remember(&Pin { commit: pinned.commit.clone(), etag, checked: list.checked, is_commit: false })
    }

    /// Why there is no best tag, by the list as it is now.
    fn no_version(&self, range: &Range) -> GithubError {
        let tags = self.tags.read().map(|list| list.tags).unwrap_or_default();
        let versions = Versions::of(&tags, self.reference.subdirectory());
        GithubError::NoVersion {
            repository: repository(self.reference),
            subdirectory: self.reference.subdirectory().map(str::to_owned),
            range: range.to_string(),
            near: versions.near(range),
            prerelease: versions.prerelease(range).map(str::to_owned),
        }
    }
}
