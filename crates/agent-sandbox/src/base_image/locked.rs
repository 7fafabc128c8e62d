//! The image that a lock says, or the nearest there is.

use abx_core::{Event, Progress};
use abx_image::{Image, ImageId, ImageStore, Origin, Platform};
use abx_source::LockError;
use abx_source::lock::{Drift, LockedArchive, LockedBase};

use super::state::{of, surveyed};
use super::{bootstrap, known, named};
use crate::{Context, Error, FetchOptions};

/// An image of a registry is the very one. A state of an archive is made again while the archive has it, else it has
/// drifted: a fault under `frozen`, which is told before anything is made.
pub(super) async fn image(
    context: &Context,
    store: &ImageStore,
    locked: &LockedBase,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    if let Some(image) = stored(context, store, locked)? {
        return Ok(image);
    }
    match locked {
        LockedBase::Registry { image, digest } => {
            pulled(context, store, image, digest, options, progress).await
        }
        LockedBase::Archive(archive) => made(context, archive, locked, options, progress).await,
    }
}

/// How the image would differ that is to be had instead of the locked one; `None` where that is to be had itself.
pub(crate) async fn drift(
    context: &Context,
    store: &ImageStore,
    locked: &LockedBase,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Option<Drift>, Error> {
    let LockedBase::Archive(archive) = locked else { return Ok(None) };
    let Some(release) = abx_debian::release_of(&archive.image) else { return Ok(None) };
    if stored(context, store, locked)?.is_some() {
        return Ok(None);
    }
    let found = surveyed(context, &archive.image, &release, options, progress).await?;
    Ok(locked.drift(&found))
}

/// The locked image, where the store has it.
fn stored(context: &Context, store: &ImageStore, locked: &LockedBase) -> Result<Option<Image>, Error> {
    let is_it = |image: &Image| locked.drift(&of(image, locked.image())).is_none();
    if let Some(image) = known(context, store, locked.image())?.filter(is_it) {
        return Ok(Some(image));
    }
    match locked {
        LockedBase::Registry { image, digest } => {
            let pulled = store.pulled(&pinned(image, digest), &Platform::host())?;
            Ok(pulled.map(|pulled| pulled.image))
        }
        // An earlier state of the archive, from before the name stood for a later one.
        LockedBase::Archive(_) => {
            let Ok(entries) = context.home.store("images").read_dir() else { return Ok(None) };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Some(id) = name.strip_suffix(".json") else { continue };
                let image = store.image(&ImageId(id.to_owned()))?;
                let is_bottom = |image: &Image| image.layers.len() == 1;
                if let Some(image) = image.filter(is_bottom).filter(is_it) {
                    return Ok(Some(image));
                }
            }
            Ok(None)
        }
    }
}

/// `debian:12@sha256:…`.
fn pinned(image: &str, digest: &str) -> String {
    format!("{}@{digest}", image.split('@').next().unwrap_or(image))
}

async fn pulled(
    context: &Context,
    store: &ImageStore,
    name: &str,
    digest: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    let image = pinned(name, digest);
    let has_archive = abx_debian::release_of(name).is_some();
    if options.offline {
        return match has_archive && !options.frozen {
            true => instead(context, store, name, digest, options, progress).await,
            false => Err(super::offline(&image)),
        };
    }
    match abx_image::pull(store, &image, &Platform::host(), &context.registries(), progress).await {
        Ok(found) => {
            if let Origin::Registry { digest, .. } = &found.origin {
                progress.event(Event::Note(format!("{name}: from its registry, {digest}")));
            }
            Ok(found)
        }
        Err(error) if error.is_unreachable() && has_archive && !options.frozen => {
            instead(context, store, name, digest, options, progress).await
        }
        Err(error) => Err(error.into()),
    }
}

/// What the name stands for here, where nobody has the locked image.
async fn instead(
    context: &Context,
    store: &ImageStore,
    name: &str,
    digest: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    let found = named(context, store, name, options, progress).await?;
    let locked = LockedBase::registry(name, digest);
    note(locked.drift(&of(&found, name)), progress);
    Ok(found)
}

async fn made(
    context: &Context,
    archive: &LockedArchive,
    locked: &LockedBase,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    let Some(release) = abx_debian::release_of(&archive.image) else {
        return Err(Error::BaseImage {
            image: archive.image.clone(),
            reason: "it is locked to a state of Debian's archive, which has no such release".into(),
            hints: vec!["`abx template update` locks it anew".into()],
        });
    };
    // Whether the archive still has that state is looked up now.
    let fresh = FetchOptions { no_cache: true, ..options.clone() };
    let image = bootstrap(context, &release, &fresh, progress).await?;
    match locked.drift(&of(&image, &archive.image)) {
        Some(drift) if options.frozen => Err(LockError::Moved { drift }.into()),
        drift => {
            note(drift, progress);
            Ok(image)
        }
    }
}

fn note(drift: Option<Drift>, progress: &dyn Progress) {
    if let Some(drift) = drift {
        progress.event(Event::Note(format!("template.lock: {drift}")));
    }
}
