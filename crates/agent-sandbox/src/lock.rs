//! The lock that holds for a reference: found before anything is resolved, compared afterwards.

use abx_core::{Event, Progress};
use abx_reference::Reference;
use abx_source::lock::{Drift, describe, find};
use abx_source::{BaseImage, GithubSettings, Lineage, LockError, SourceContext};

use crate::{Context, Error, FetchOptions};

/// Where references are looked up, with the lock that holds for this one.
pub(crate) async fn hold(
    context: &Context,
    reference: &str,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<SourceContext, Error> {
    let source = context.source();
    // Resolving tells what is wrong with it.
    let Ok(parsed) = Reference::parse(reference) else { return Ok(source) };
    let source = find::hold(&parsed, &source, settings, progress).await?;
    if let Some(found) = source.lock.as_ref().filter(|found| found.is_apart) {
        // Nobody would look for it there.
        progress.event(Event::Note(format!("{} holds for {reference}", found.file)));
    }
    Ok(source)
}

/// Compares what was resolved with the lock it was resolved by. What has drifted is said, and under `frozen` a fault.
///
/// # Errors
/// E2008 under `frozen`, for a missing lock too; E5022 for a package that differs at the commit it is locked to.
pub(crate) fn check(
    reference: &str,
    lineage: &Lineage,
    source: &SourceContext,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let Some(found) = &source.lock else {
        // A vendored file is one whole.
        return match options.frozen && !matches!(lineage.base, BaseImage::Vendored { .. }) {
            true => Err(missing(reference, source).into()),
            false => Ok(()),
        };
    };
    let members = describe(lineage, found.lock.top(), source)?;
    let mut drift = found.lock.drift(&members, &lineage.base, &found.file)?;
    drift.extend(found.lock.image_drift(&lineage.images()));
    report(reference, &found.file, drift, options, progress)
}

/// The same for the image at the bottom, without fetching it: of an archive that has moved on there is no old state to
/// be had. To be asked under `frozen`, before the long work.
pub(crate) async fn check_base(
    context: &Context,
    reference: &str,
    lineage: &Lineage,
    source: &SourceContext,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let (Some(found), Some(locked)) = (&source.lock, &lineage.locked) else { return Ok(()) };
    let drift = crate::base_image::drift(context, &context.store(), locked, options, progress).await?;
    report(reference, &found.file, drift.into_iter().collect(), options, progress)
}

fn report(
    reference: &str,
    file: &str,
    drift: Vec<Drift>,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<(), Error> {
    if drift.is_empty() {
        return Ok(());
    }
    if options.frozen {
        return Err(LockError::Drift { file: file.to_owned(), subject: reference.to_owned(), drift }.into());
    }
    for drift in &drift {
        progress.event(Event::Note(format!("{file}: {drift}")));
    }
    progress.event(Event::Note(format!("`abx template lock {reference}` takes over what has changed")));
    Ok(())
}

/// Says what the lock that is in the way belongs to.
pub(crate) fn missing(reference: &str, source: &SourceContext) -> LockError {
    let beside = source.cwd.join(abx_source::lock::FILE);
    let other = find::read(&beside, abx_source::lock::FILE).ok().flatten();
    let other = other.map(|lock| lock.top().to_owned()).filter(|top| top != abx_source::lock::HERE);
    LockError::Missing { subject: reference.to_owned(), other }
}
