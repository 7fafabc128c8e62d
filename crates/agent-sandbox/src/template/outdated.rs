//! What a lock holds back.

use std::time::Duration;

use abx_core::Progress;
use abx_reference::github::LATEST;
use abx_reference::{Github, Name, Reference, Registry};
use abx_source::lock::{Lock, LockedBase, LockedKind, LockedTemplate, describe};
use abx_source::{GithubSettings, Lineage, Package, PackageRoot, SourceContext, SourceError};
use abx_spec::Base;
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// One entry of a lock beside what it could be. What it is is a tag and commit, a version, or a digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outdated {
    /// As `base.from` has it, or the name of an image.
    pub reference: String,
    /// `github`, `built-in`, `directory`, …; `image` for the base image and those that a Dockerfile takes from.
    pub kind: &'static str,
    pub locked: String,
    /// What the reference stands for now.
    pub wanted: Option<String>,
    /// The newest release, whether or not the reference wants it.
    pub latest: Option<String>,
    /// Whether an update would change it.
    pub outdated: bool,
}

/// Compares the lock of a template with what there is now; nothing is written.
///
/// # Errors
/// E2008 without a lock; whatever asking for the versions reports.
pub async fn outdated(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Vec<Outdated>, Error> {
    let _in_use = context.look_at_store().await;
    let mut settings = crate::github::settings(context, options);
    settings.cache_ttl = Duration::ZERO;
    let source = crate::lock::hold(context, reference, &settings, progress).await?;
    let Some(found) = source.lock.clone() else {
        return Err(crate::lock::missing(reference, &source).into());
    };
    let source = abx_source::fetch(reference, &source, &settings, progress).await?;
    let lineage = abx_source::resolve(reference, &source)?;
    let asking = Asking { source: &source, settings: &settings, progress };
    let mut entries = Vec::new();
    for (template, now) in members(&found.lock, &lineage, &source)? {
        entries.push(asking.template(&template, now.as_ref()).await?);
    }
    if let Some(locked) = &found.lock.base {
        let now = match asked_image(&found.lock, &lineage) {
            Some(image) => pinned_image(&image, locked, &source, &settings).await?,
            None => crate::base_image::current(context, locked.image(), options, progress).await?,
        };
        entries.push(image(locked, &now));
    }
    for locked in &found.lock.images {
        let now = crate::base_image::current(context, locked.image(), options, progress).await?;
        entries.push(image(locked, &now));
    }
    Ok(entries)
}

/// Each entry with what it came to by the lock: whatever cannot be held shows there. The template itself is no news
/// where the lock lies beside it.
fn members(
    lock: &Lock,
    lineage: &Lineage,
    source: &SourceContext,
) -> Result<Vec<(LockedTemplate, Option<LockedTemplate>)>, Error> {
    let found = describe(lineage, lock.top(), source)?;
    let held = lock.templates.iter().filter(|template| template.digest.is_some());
    let member = |template: &LockedTemplate| {
        let now = found.iter().find(|found| found.reference == template.reference);
        (template.clone(), now.cloned())
    };
    Ok(held.map(member).collect())
}

struct Asking<'a> {
    source: &'a SourceContext,
    settings: &'a GithubSettings,
    progress: &'a dyn Progress,
}

impl Asking<'_> {
    async fn template(
        &self,
        locked: &LockedTemplate,
        now: Option<&LockedTemplate>,
    ) -> Result<Outdated, Error> {
        let (wanted, latest) = match Reference::parse(&locked.reference) {
            Ok(Reference::Github(github)) => (Some(self.pinned(&github).await?), self.latest(&github).await?),
            Ok(Reference::Name(name)) if locked.kind != LockedKind::Local => {
                (self.named(&name).await?, self.newest(&name).await?)
            }
            _ => (now.cloned(), None),
        };
        let outdated = wanted.as_ref().is_some_and(|wanted| !is_same(locked, wanted));
        // A tag that was moved is the same word for something else.
        let moved = outdated && wanted.as_ref().is_some_and(|wanted| wanted.tag == locked.tag);
        let word = |template: &LockedTemplate| match (&template.tag, moved) {
            (Some(tag), false) => tag.clone(),
            _ => template.shown(),
        };
        Ok(Outdated {
            reference: locked.reference.clone(),
            kind: locked.kind.as_str(),
            locked: word(locked),
            wanted: wanted.as_ref().map(word),
            latest: latest.as_ref().map(word),
            outdated,
        })
    }

    /// What a reference to a repository stands for now.
    async fn pinned(&self, github: &Github) -> Result<LockedTemplate, Error> {
        let pinned = abx_source::github::pin(github, &self.source.home, self.settings).await;
        let pinned = pinned.map_err(|error| SourceError::Github { error: Box::new(error), beside: None })?;
        Ok(LockedTemplate {
            reference: github.to_string(),
            kind: LockedKind::Github,
            name: String::new(),
            tag: pinned.name.filter(|_| pinned.is_chosen),
            source: None,
            commit: Some(pinned.commit),
            digest: None,
        })
    }

    /// The newest release of the repository, where it has any.
    async fn latest(&self, github: &Github) -> Result<Option<LockedTemplate>, Error> {
        let pinned = self.pinned(&github.at(LATEST)).await?;
        Ok(Some(pinned).filter(|pinned| pinned.tag.is_some()))
    }

    /// What a name stands for now.
    async fn named(&self, name: &Name) -> Result<Option<LockedTemplate>, Error> {
        let reference = name.to_string();
        let free = SourceContext { lock: None, ..self.source.clone() };
        let source = abx_source::fetch(&reference, &free, self.settings, self.progress).await?;
        let lineage = abx_source::resolve(&reference, &source)?;
        Ok(describe(&lineage, &reference, &source)?.into_iter().next())
    }

    async fn newest(&self, name: &Name) -> Result<Option<LockedTemplate>, Error> {
        match Reference::parse(name.name()) {
            Ok(Reference::Name(any)) => self.named(&any).await,
            _ => Ok(None),
        }
    }
}

/// The image at the bottom where a reference names it, which may do so by a tag that moves, or by a range.
fn asked_image(lock: &Lock, lineage: &Lineage) -> Option<Registry> {
    let made = |package: &&Package| !matches!(package.root, PackageRoot::Stored { .. });
    let text = match lineage.packages.iter().find(made) {
        None => lock.top(),
        Some(package) => match &package.spec.base {
            Some(Base::From(at) | Base::Either(at)) => &at.value,
            _ => return None,
        },
    };
    match Reference::parse(text) {
        Ok(Reference::Registry(image)) => Some(image),
        _ => None,
    }
}

async fn pinned_image(
    image: &Registry,
    locked: &LockedBase,
    source: &SourceContext,
    settings: &GithubSettings,
) -> Result<LockedBase, Error> {
    // What it stands for whatever the lock says.
    let source = SourceContext { lock: None, ..source.clone() };
    let now = abx_source::registry::pin_image(image, &source, settings).await?;
    let digest = now.digest.unwrap_or_default();
    Ok(LockedBase::Registry { image: locked.image().to_owned(), digest })
}

fn is_same(locked: &LockedTemplate, wanted: &LockedTemplate) -> bool {
    match (&locked.commit, &wanted.commit) {
        (Some(commit), Some(other)) => commit == other,
        _ => locked.digest == wanted.digest,
    }
}

fn image(locked: &LockedBase, now: &LockedBase) -> Outdated {
    Outdated {
        reference: locked.image().to_owned(),
        kind: LockedKind::Image.as_str(),
        locked: locked.shown(),
        wanted: Some(now.shown()),
        latest: None,
        outdated: locked.drift(now).is_some(),
    }
}
