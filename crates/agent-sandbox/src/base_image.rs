//! The image at the bottom of a lineage: from its registry, else from the distribution's own archive.
//!
//! Once it is in the store it is used as it is, so that creating and building need no network; building with
//! `no_cache` takes a fresh one. Which image a name stood for is kept in `store/bases/<name>`. Where a lock says which
//! image it is, [`locked`] takes that one.

mod locked;
mod state;
mod vendored;

use std::path::PathBuf;
use std::time::Duration;

use abx_core::fs::{Lock, write_atomic};
use abx_core::{Event, Progress};
use abx_debian::release::Release;
use abx_debian::settings::{BootstrapSettings, DEFAULT_MAX_AGE};
use abx_image::{Image, ImageId, ImageStore, Origin, Platform};
use abx_source::lock::LockedBase;
use abx_source::{BaseImage, Lineage};
pub(crate) use locked::drift;
pub(crate) use state::{current, known_state};

use crate::{Context, Error, FetchOptions};

/// Finds or fetches the image at the bottom.
pub(crate) async fn base_image(
    context: &Context,
    store: &ImageStore,
    lineage: &Lineage,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    match &lineage.base {
        // Whoever builds a Dockerfile asks for no image where it begins with none.
        BaseImage::Scratch => Err(abx_build::BuildError::Defect.into()),
        BaseImage::Image { name, .. } => {
            image(context, store, (name, lineage.locked.as_ref()), options, progress).await
        }
        BaseImage::Vendored { vendored, .. } => vendored::image(context, store, vendored, progress).await,
        BaseImage::Stored { name, tag, .. } => {
            let missing = || Error::NoLocalTemplate { name: name.clone(), tag: tag.clone() };
            let id = store.lookup(name, tag)?.ok_or_else(missing)?;
            store.image(&id)?.ok_or_else(missing)
        }
    }
}

/// An image by its name, which is the locked one where a lock says which.
pub(crate) async fn image(
    context: &Context,
    store: &ImageStore,
    (name, locked): (&str, Option<&LockedBase>),
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    match locked {
        Some(base) => locked::image(context, store, base, options, progress).await,
        None => named(context, store, name, options, progress).await,
    }
}

async fn named(
    context: &Context,
    store: &ImageStore,
    name: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    if let Some(image) = known(context, store, name)?.filter(|_| !options.no_cache) {
        return Ok(image);
    }
    let path = context.home.store("locks").join(format!("base-{}", escape(name)));
    let _lock = lock(path).await?;
    // Another process may have fetched it while we waited.
    if let Some(image) = known(context, store, name)?.filter(|_| !options.no_cache) {
        return Ok(image);
    }
    let image = fetch(context, store, name, options, progress).await?;
    let record = record(context, name);
    write_atomic(&record, image.id.0.as_bytes()).map_err(Error::state(&record))?;
    Ok(image)
}

/// Waits beside the runtime: another process may hold it for as long as a bootstrap takes.
async fn lock(path: PathBuf) -> Result<Lock, Error> {
    let wait = {
        let path = path.clone();
        move || Lock::exclusive(&path)
    };
    let taken =
        tokio::task::spawn_blocking(wait).await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    taken.map_err(Error::state(&path))
}

async fn fetch(
    context: &Context,
    store: &ImageStore,
    name: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    let release = abx_debian::release_of(name);
    if options.offline {
        let Some(release) = release else {
            return Err(offline(name));
        };
        return bootstrap(context, &release, options, progress).await;
    }
    match (abx_image::pull(store, name, &Platform::host(), &context.registries(), progress).await, release) {
        (Ok(image), _) => {
            if let Origin::Registry { digest, .. } = &image.origin {
                let name = name.split('@').next().unwrap_or(name);
                progress.event(Event::Note(format!("{name}: from its registry, {digest}")));
            }
            Ok(image)
        }
        (Err(error), Some(release)) if error.is_unreachable() => {
            progress
                .event(Event::Note(format!("{name}: no registry within reach, so from Debian's archive")));
            bootstrap(context, &release, options, progress).await
        }
        (Err(error), _) => Err(error.into()),
    }
}

async fn bootstrap(
    context: &Context,
    release: &Release,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Image, Error> {
    let settings = bootstrap_settings(context, options);
    Ok(abx_debian::bootstrap(release, &settings, progress).await?)
}

fn offline(name: &str) -> Error {
    Error::Offline { image: name.to_owned() }
}

fn bootstrap_settings(context: &Context, options: &FetchOptions) -> BootstrapSettings {
    BootstrapSettings {
        home: context.home.clone(),
        host: context.host.clone(),
        default_mirror: context.settings.debian_mirror.clone(),
        keyrings: Vec::new(),
        offline: options.offline,
        // Asked for a fresh one: whether it has changed is looked up now.
        max_age: if options.no_cache { Duration::ZERO } else { DEFAULT_MAX_AGE },
        helper: context.exe.clone(),
    }
}

/// The image that a name stands for here, where it is here.
pub(crate) fn known(context: &Context, store: &ImageStore, name: &str) -> Result<Option<Image>, Error> {
    match std::fs::read_to_string(record(context, name)) {
        Ok(id) => Ok(store.image(&ImageId(id))?),
        // The same digest may have been pulled by another tag.
        Err(_) if name.contains('@') => Ok(store.pulled(name, &Platform::host())?.map(|pulled| pulled.image)),
        Err(_) => Ok(None),
    }
}

fn record(context: &Context, name: &str) -> PathBuf {
    context.home.store("bases").join(escape(name))
}

/// A name as one path component: `%` and `/` are escaped, everything else a reference may hold is harmless.
fn escape(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}
