//! What the name of a base image stands for, said so that it holds.

use abx_core::{Event, Progress};
use abx_debian::Release;
use abx_image::{Image, ImageStore, Origin, Platform};
use abx_source::lock::{LockedArchive, LockedBase};

use super::{bootstrap_settings, known};
use crate::{Context, Error, FetchOptions};

/// What the image in the store is that `name` stands for here; `None` where there is none, or nobody knows any more
/// where it came from.
pub(crate) fn known_state(
    context: &Context,
    store: &ImageStore,
    name: &str,
) -> Result<Option<LockedBase>, Error> {
    Ok(known(context, store, name)?.map(|image| of(&image, name)))
}

/// What `name` stands for now: in its registry, else in the distribution's archive. Fetches no layer.
pub(crate) async fn current(
    context: &Context,
    name: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<LockedBase, Error> {
    let release = abx_debian::release_of(name);
    if !options.offline {
        let platform = Platform::host();
        match abx_image::lookup(name, &platform, &context.registries(), progress).await {
            Ok(digest) => {
                return Ok(LockedBase::registry(name, &digest.to_string()));
            }
            Err(error) if error.is_unreachable() && release.is_some() => {
                progress.event(Event::Note(format!("{name}: no registry within reach, so Debian's archive")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    match release {
        Some(release) => surveyed(context, name, &release, options, progress).await,
        None => Err(super::offline(name)),
    }
}

/// What the distribution's archive has now.
pub(super) async fn surveyed(
    context: &Context,
    name: &str,
    release: &Release,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<LockedBase, Error> {
    let survey = abx_debian::survey(release, &bootstrap_settings(context, options), progress).await?;
    Ok(archive(name, survey.release, survey.date, survey.packages))
}

/// What an image of the store is.
pub(super) fn of(image: &Image, name: &str) -> LockedBase {
    match &image.origin {
        Origin::Registry { digest, .. } => LockedBase::registry(name, digest),
        Origin::Archive { release, date, packages } => {
            archive(name, release.clone(), date.clone(), packages.clone())
        }
    }
}

fn archive(name: &str, release: String, snapshot: String, mut packages: Vec<String>) -> LockedBase {
    // As text, which is another order than that of the names.
    packages.sort_unstable();
    let platform = Platform::host().to_string();
    LockedBase::Archive(LockedArchive { image: name.to_owned(), release, snapshot, platform, packages })
}
