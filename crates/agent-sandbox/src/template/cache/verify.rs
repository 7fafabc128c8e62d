//! Whether what is kept is what it was.

use abx_core::Progress;
use abx_core::fs::{Lock, Staging};
use abx_core::progress::{Unit, start};
use abx_image::{ImageStore, StoredLayer};
use abx_source::{Cached, CachedOrigin};
use serde::Serialize;

use super::entry::Target;
use super::inventory::{needed_now, short};
use super::{Kind, remove};
use crate::blocking::blocking;
use crate::{Context, Error};

/// How closely to look, and what to do then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyRequest {
    /// Reads the layers too.
    pub deep: bool,
    /// Removes what is damaged, so that it is fetched or built again.
    pub repair: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Entries that were looked at.
    pub checked: usize,
    /// Those with nothing to compare with: made by an older version, or read closely for the first time.
    pub unmeasured: usize,
    pub damaged: Vec<Damaged>,
}

/// An entry that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damaged {
    pub kind: Kind,
    pub name: String,
    pub reason: String,
    pub id: String,
    /// Whether it was removed.
    pub repaired: bool,
}

/// Looks at every entry: files of repositories and archives are read, images must have their layers, and layers be whole.
pub async fn verify(
    context: &Context,
    request: VerifyRequest,
    progress: &dyn Progress,
) -> Result<Verified, Error> {
    let context = context.clone();
    blocking(progress, move |progress| verify_blocking(&context, request, progress)).await
}

fn verify_blocking(
    context: &Context,
    request: VerifyRequest,
    progress: &dyn Progress,
) -> Result<Verified, Error> {
    let (mut verified, mut found) = (Verified::default(), Vec::new());
    let root = context.home.store("packages");
    let cached = abx_source::cached(&context.home).map_err(Error::state(&root))?;
    let (store, task) = (context.store(), start(progress, "verifying", None, Unit::Items));
    for cached in &cached {
        verified.checked += 1;
        verified.unmeasured += usize::from(cached.made.is_some() && !cached.is_measured());
        found.extend(cached.fault().map(|reason| source(cached, reason)));
        task.advance(1);
    }
    for layer in store.stored_layers()? {
        verified.checked += 1;
        match layer_fault(&store, &layer, request.deep)? {
            Checked::Sound => {}
            Checked::Unmeasured => verified.unmeasured += 1,
            Checked::Damaged(reason) => found.push(damaged_layer(&layer, reason)),
        }
        task.advance(1);
    }
    images(&store, &mut verified, &mut found)?;
    task.finish("");
    if request.repair && !found.is_empty() {
        repair(context, &mut found)?;
    }
    verified.damaged = found.into_iter().map(|(damaged, _)| damaged).collect();
    Ok(verified)
}

enum Checked {
    Sound,
    Unmeasured,
    Damaged(String),
}

fn layer_fault(store: &ImageStore, layer: &StoredLayer, deep: bool) -> Result<Checked, Error> {
    if layer.record.is_none() {
        return Ok(Checked::Damaged("it is not whole".to_owned()));
    }
    if !deep {
        return Ok(Checked::Sound);
    }
    Ok(match store.check_layer(&layer.id) {
        Ok(Some(true)) => Checked::Sound,
        Ok(Some(false)) => {
            Checked::Damaged("its files are not what they were when they were read first".to_owned())
        }
        Ok(None) => Checked::Unmeasured,
        Err(error) => Checked::Damaged(format!("it cannot be read: {error}")),
    })
}

/// What is damaged, and what to remove for that.
type Found = (Damaged, Option<Target>);

/// Images whose record is damaged, or which lack a layer.
fn images(store: &ImageStore, verified: &mut Verified, found: &mut Vec<Found>) -> Result<(), Error> {
    let (local, images) = (store.list()?, store.stored_images()?);
    let gone: Vec<_> =
        local.iter().filter(|tag| images.iter().all(|stored| stored.id != tag.image)).collect();
    for stored in &images {
        verified.checked += 1;
        let reason = match &stored.image {
            None => "its record is damaged".to_owned(),
            Some(image) => match image.layers.iter().filter(|layer| !store.has_layer(layer)).count() {
                0 => continue,
                missing => format!("it lacks {missing} of its {} layers", image.layers.len()),
            },
        };
        let names: Vec<String> = local
            .iter()
            .filter(|tag| tag.image == stored.id)
            .map(|tag| format!("{}:{}", tag.name, tag.tag))
            .collect();
        let name = names.first().cloned().unwrap_or_else(|| short(&stored.id.0).to_owned());
        let damaged = Damaged { kind: Kind::Image, name, reason, id: stored.id.0.clone(), repaired: false };
        found.push((damaged, Some(Target::Image(stored.id.clone()))));
    }
    for tag in gone {
        verified.checked += 1;
        let name = format!("{}:{}", tag.name, tag.tag);
        let (kind, reason, id) =
            (Kind::Image, "its image is gone: build it again".to_owned(), tag.image.0.clone());
        found.push((Damaged { kind, name, reason, id, repaired: false }, None));
    }
    Ok(())
}

fn source(cached: &Cached, reason: String) -> Found {
    let (kind, name) = match &cached.origin {
        CachedOrigin::Repository { repository, commit, .. } => {
            (Kind::Repository, format!("{repository}@{}", short(commit)))
        }
        CachedOrigin::Archive { file, sha256 } if file.is_empty() => {
            (Kind::Archive, short(sha256).to_owned())
        }
        CachedOrigin::Archive { file, .. } => (Kind::Archive, file.clone()),
    };
    let id = cached.path.display().to_string();
    (Damaged { kind, name, reason, id, repaired: false }, Some(Target::Path(cached.path.clone())))
}

fn damaged_layer(layer: &StoredLayer, reason: String) -> Found {
    let name = layer
        .record
        .as_ref()
        .map_or_else(|| short(&layer.id.0).to_owned(), |record| record.created_by.clone());
    let damaged = Damaged { kind: Kind::Layer, name, reason, id: layer.id.0.clone(), repaired: false };
    (damaged, Some(Target::Layer(layer.id.clone())))
}

/// Takes what is damaged out of its place, unless a live sandbox runs on it.
fn repair(context: &Context, found: &mut [Found]) -> Result<(), Error> {
    let path = context.home.in_use_lock();
    let alone = Lock::exclusive(&path).map_err(Error::state(&path))?;
    let parent = context.home.store("staging");
    let staging = Staging::new(&parent).map_err(Error::state(&parent))?;
    let needed = needed_now(context)?;
    for (damaged, target) in found {
        let Some(target) = target else { continue };
        if needed.runs_on(target) {
            damaged.reason += ", and a live sandbox runs on it";
            continue;
        }
        remove::take(context, target, &staging)?;
        damaged.repaired = true;
    }
    drop(alone);
    Ok(())
}
