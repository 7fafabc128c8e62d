//! Images in registries that a reference names: which one a tag or range stands for now, and the template that
//! is in it.
//!
//! An image that was pushed here carries the files of its lineage as an annotation of its manifest; so whoever
//! refers to it inherits what the template says. Of any other image nothing is known but its name.
//!
//! ```text
//! store/tags/<image>.json     what a name stood for, when, and the lineage that was written on it
//! ```

mod error;
mod known;

use std::cmp::Ordering;

use abx_core::{Event, Progress};
use abx_image::registry::{self, Described};
use abx_image::{ImageError, Platform, RegistryName};
use abx_reference::{Registry, Selector, Version};

use crate::github::{GithubSettings, now};
use crate::lock::{Lock, LockedBase};
use crate::{Package, SourceContext, SourceError};
pub use error::RegistryError;
use known::Record;

/// The annotation of a manifest that holds the files of a lineage.
pub const ANNOTATION: &str = "abx.template.lineage";

/// Versions that are told where none fits.
const SHOWN: usize = 8;

/// An image that a reference stands for.
#[derive(Clone, Debug)]
pub struct RegistryImage {
    /// As it was asked for.
    pub asked: Registry,
    /// The tag that was asked for, or is the highest of the range.
    pub tag: Option<String>,
    /// What the name stands for; `None` where nobody could be asked.
    pub digest: Option<String>,
    /// The packages that are in it, root first.
    pub packages: Vec<Package>,
}

impl RegistryImage {
    /// Whether it is what `reference` asks for.
    pub fn serves(&self, reference: &Registry) -> bool {
        self.asked == *reference
    }

    /// The image as `docker pull` takes it: the one it was, where that is known.
    pub fn name(&self) -> String {
        self.pinned().image()
    }

    /// The reference that stands for the same next year, where the digest is known.
    pub fn pinned(&self) -> Registry {
        let digest = self.digest.as_deref();
        digest
            .and_then(|digest| self.asked.at(self.tag.as_deref(), digest).ok())
            .unwrap_or(self.asked.clone())
    }
}

/// Looks up which image a reference stands for, and the template in it. What is known is believed as long as the
/// settings say, and for ever where it is pinned.
///
/// A registry that is out of reach is no error where another source of the image may be known to whoever gets it.
pub(crate) async fn look_up(
    asked: &Registry,
    context: &SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<RegistryImage, SourceError> {
    if let Some(locked) = context.locked().and_then(|lock| locked(asked, lock)) {
        let pinned = SourceContext { lock: None, ..context.clone() };
        let found = Box::pin(look_up(&locked, &pinned, settings, progress)).await?;
        return Ok(RegistryImage { asked: asked.clone(), ..found });
    }
    let plain = || RegistryImage { asked: asked.clone(), tag: None, digest: None, packages: Vec::new() };
    let known = known::recall(asked, context);
    if let Some(record) = known.as_ref().filter(|record| record.is_believed(asked, settings)) {
        return record.image(asked);
    }
    if settings.offline {
        return match known::alike(asked, context) {
            Some(record) => record.image(asked),
            None if asked.range().is_none() => Ok(plain()),
            None => Err(RegistryError::Offline { reference: asked.clone() }.into()),
        };
    }
    match ask(asked, context, progress).await {
        Ok(record) => {
            known::remember(asked, &record, context)?;
            record.image(asked)
        }
        Err(SourceError::Registry(error)) if is_unreachable(&error) => match known {
            Some(record) => {
                let text = format!("{asked} is taken for what it was last: {error}");
                progress.event(Event::Warning(text));
                record.image(asked)
            }
            None if asked.range().is_none() => Ok(plain()),
            None => Err(SourceError::Registry(error)),
        },
        Err(error) => Err(error),
    }
}

/// What a reference stands for, for somebody who wants to know no more: tag and digest.
pub async fn pin_image(
    asked: &Registry,
    context: &SourceContext,
    settings: &GithubSettings,
) -> Result<RegistryImage, SourceError> {
    let image = |tag, digest| RegistryImage { asked: asked.clone(), tag, digest, packages: Vec::new() };
    let locked = context.locked().and_then(|lock| locked(asked, lock));
    let pinned = locked.as_ref().unwrap_or(asked);
    if let Some(digest) = pinned.digest() {
        return Ok(image(pinned.tag().map(str::to_owned), Some(digest.to_owned())));
    }
    let known = known::recall(asked, context).filter(|record| record.is_believed(asked, settings));
    let known = known.or_else(|| known::alike(asked, context).filter(|_| settings.offline));
    if let Some(record) = known {
        return Ok(image(record.tag, Some(record.digest)));
    }
    if settings.offline {
        return Err(RegistryError::Offline { reference: asked.clone() }.into());
    }
    let (name, tag) = choose(asked, context).await?;
    let digest = registry::digest(&name, &context.registries).await.map_err(RegistryError::from)?;
    Ok(image(tag, Some(digest.to_string())))
}

/// The image that a lock says the name stood for.
fn locked(asked: &Registry, lock: &Lock) -> Option<Registry> {
    let Some(LockedBase::Registry { image, digest }) = &lock.base else { return None };
    let name = RegistryName::parse(image).ok()?;
    if asked.digest().is_some() || place(&name) != place(&repository(asked).ok()?) {
        return None;
    }
    match asked.range() {
        Some(range) if range.matches(&Version::parse(name.tag())?) => asked.at(Some(name.tag()), digest).ok(),
        None if name.tag() == asked.tag().unwrap_or("latest") => asked.at(asked.tag(), digest).ok(),
        _ => None,
    }
}

/// Asks the registry.
async fn ask(
    asked: &Registry,
    context: &SourceContext,
    progress: &dyn Progress,
) -> Result<Record, SourceError> {
    let (name, tag) = choose(asked, context).await?;
    let platform = Platform::host();
    let Described { digest, annotations } =
        registry::describe(&name, &platform, &context.registries, progress)
            .await
            .map_err(RegistryError::from)?;
    let lineage = annotations.into_iter().find(|(key, _)| key == ANNOTATION).map(|(_, value)| value);
    let (place, digest) = (place(&name), digest.to_string());
    Ok(Record { place, tag, digest, lineage, checked: now() })
}

/// The name to ask for, and its tag: of a range the highest.
async fn choose(
    asked: &Registry,
    context: &SourceContext,
) -> Result<(RegistryName, Option<String>), SourceError> {
    let Some(range) = asked.range() else {
        return Ok((
            RegistryName::parse(&asked.image()).map_err(RegistryError::from)?,
            asked.tag().map(str::to_owned),
        ));
    };
    let name = repository(asked).map_err(RegistryError::from)?;
    let tags = registry::tags(&name, &context.registries).await.map_err(RegistryError::from)?;
    let chosen = Selector::Range(range.clone()).choose(tags.iter().map(String::as_str));
    match chosen {
        Some(tag) => Ok((name.tagged(tag).map_err(RegistryError::from)?, Some(tag.to_owned()))),
        None => Err(no_version(asked, &tags)),
    }
}

/// Docker's own images (`docker://debian`) are no templates of anyone: nobody need be asked before they are pulled.
pub(crate) fn is_plain(asked: &Registry) -> bool {
    let repository = asked.repository();
    let is_official = !repository.strip_prefix("library/").unwrap_or(repository).contains('/');
    asked.host().is_none() && is_official && asked.range().is_none()
}

/// A repository may have thousands of tags: the newest versions are told.
fn no_version(asked: &Registry, tags: &[String]) -> SourceError {
    let versions = tags.iter().filter_map(|tag| Some((tag.clone(), Version::parse(tag)?)));
    let mut versions: Vec<_> = versions.collect();
    versions.sort_by(|(_, one), (_, other)| match other.outranks(one) {
        true => Ordering::Greater,
        false if one.outranks(other) => Ordering::Less,
        false => Ordering::Equal,
    });
    let name = asked.image();
    let selector = asked.range().map(ToString::to_string).unwrap_or_default();
    let name = name.strip_suffix(&format!(":{selector}")).unwrap_or(&name).to_owned();
    let available = versions.into_iter().take(SHOWN).map(|(tag, _)| tag).collect();
    SourceError::NoVersion { name, selector, available, elsewhere: None }
}

/// The repository alone, for its tags.
fn repository(asked: &Registry) -> Result<RegistryName, ImageError> {
    let host = asked.host().map(|host| format!("{host}/")).unwrap_or_default();
    RegistryName::parse(&format!("{host}{}", asked.repository()))
}

fn is_unreachable(error: &RegistryError) -> bool {
    matches!(error, RegistryError::Image(error) if error.is_unreachable())
}

fn place(name: &RegistryName) -> String {
    format!("{}/{}", name.registry(), name.repository())
}
