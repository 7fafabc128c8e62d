//! What the disk alone says of a reference.

use abx_reference::github::{GitRef, LATEST};

use super::cache::{Pin, is_young};
use super::pin::{Pinned, Pinner};
use super::tags::{Tag, TagList};
use super::versions::{Versions, Wanted};
use super::{GithubError, now};

impl Pinner<'_> {
    /// What is known, and believed as the settings have it. Offline it is what is on disk whole.
    pub(super) fn known(&self) -> Option<Pinned> {
        match self.reference.git_ref() {
            None => self.known_name(None),
            Some(GitRef::Name(name)) if name == LATEST => self.known_latest(),
            Some(GitRef::Name(name)) => self.known_name(Some(name)),
            Some(GitRef::Range(range)) => self.known_choice(Wanted::Range(range)),
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

    pub(super) fn known_name(&self, name: Option<&str>) -> Option<Pinned> {
        let believes = |pin: &Pin| {
            let is_young = !self.settings.no_cache && pin.is_fresh(now(), self.settings.cache_ttl);
            pin.is_commit || self.settings.offline || is_young
        };
        let cache = self.cache(name);
        let mut commit = cache.pin().filter(believes)?.commit;
        // It may have moved to what could not be fetched: what was there before is better than nothing.
        if self.settings.offline
            && !cache.is_complete(&commit)
            && let Some(shown) = cache.shown()
        {
            commit = shown;
        }
        Some(Pinned { commit, name: name.map(str::to_owned), is_chosen: false })
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
            Some(best) => Pinned::chosen(best),
            None => self.known_name(None),
        }
    }

    fn known_choice(&self, wanted: Wanted) -> Option<Pinned> {
        let tags = match self.settings.offline {
            true => self.tags_here(),
            false => self.tags.read().filter(|list| self.believes(list))?.tags,
        };
        self.best(&tags, wanted).and_then(Pinned::chosen)
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

    pub(super) fn believes(&self, list: &TagList) -> bool {
        let is_fresh = !self.settings.no_cache && list.is_fresh(now(), self.settings.cache_ttl);
        self.settings.offline || is_fresh
    }

    pub(super) fn best<'b>(&self, tags: &'b [Tag], wanted: Wanted) -> Option<&'b Tag> {
        Versions::of(tags, self.reference.subdirectory()).choose(wanted)
    }
}
