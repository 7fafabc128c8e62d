//! Removing what is not needed.

use abx_core::fs::{Lock, Staging};
use abx_core::{Event, Progress};
use serde::Serialize;

use super::inventory::{Inventory, inventory, needed_now};
use super::measure::seconds;
use super::select::select;
use super::{Entry, Kind, remove};
use crate::blocking::blocking;
use crate::{Context, Error};

/// What to remove. Conditions add up; without any, only what nobody can use any more goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanRequest {
    /// Of these names, ids or commits only.
    pub names: Vec<String>,
    pub kind: Option<Kind>,
    /// Not used for so many seconds.
    pub older_than: Option<u64>,
    /// Bytes.
    pub larger_than: Option<u64>,
    /// The least recently used, until what is left has no more bytes.
    pub keep_under: Option<u64>,
    /// Everything that nothing needs.
    pub all: bool,
    /// Only says what would go.
    pub dry_run: bool,
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    pub removed: Vec<Entry>,
    /// What was asked for by name, and is needed.
    pub kept: Vec<Entry>,
    /// Bytes.
    pub freed: u64,
    /// Lock files that nobody held.
    pub locks: usize,
    pub dry_run: bool,
}

/// Removes what `request` asks for and nothing needs: no live sandbox, no local template, and no build or create that
/// is under way, whose end is waited for. Entries go out of their places first, so that nobody sees half of one.
///
/// # Errors
/// A name that nothing has; a store that cannot be read or written.
pub async fn clean(
    context: &Context,
    request: &CleanRequest,
    progress: &dyn Progress,
) -> Result<Cleaned, Error> {
    let (context, request) = (context.clone(), request.clone());
    blocking(progress, move |progress| clean_blocking(&context, &request, progress)).await
}

fn clean_blocking(
    context: &Context,
    request: &CleanRequest,
    progress: &dyn Progress,
) -> Result<Cleaned, Error> {
    let begun = seconds(std::time::SystemTime::now());
    // Measuring takes its time, and holds nobody up.
    let before = inventory(context)?;
    let mut chosen = select(&before, request, begun)?;
    if request.dry_run {
        return Ok(cleaned(&before, &chosen, request));
    }
    let alone = alone(context, progress)?;
    // What was chosen may be in use by now.
    let needed = needed_now(context)?;
    chosen.retain(|index| {
        let item = &before.items[*index];
        !needed.covers(&item.target, begun) && !was_used(&item.entry, begun)
    });
    let parent = context.home.store("staging");
    let staging = Staging::new(&parent).map_err(Error::state(&parent))?;
    for index in &chosen {
        remove::take(context, &before.items[*index].target, &staging)?;
    }
    let gone = before.images_among(&chosen);
    for layer in before.freed_layers(&chosen).iter().filter(|layer| !needed.has(layer, &gone)) {
        context.store().take_layer(layer, &staging)?;
    }
    abx_source::forget_absent(&context.home).map_err(Error::state(context.home.root()))?;
    let locks = remove::locks(context)?;
    drop(alone);
    context.store().sweep()?;
    // The long work, with nobody waiting.
    drop(staging);
    Ok(Cleaned { locks, ..cleaned(&before, &chosen, request) })
}

/// The store with nobody else in it.
fn alone(context: &Context, progress: &dyn Progress) -> Result<Lock, Error> {
    let path = context.home.in_use_lock();
    if let Some(lock) = Lock::try_exclusive(&path).map_err(Error::state(&path))? {
        return Ok(lock);
    }
    progress.event(Event::Note("waiting for builds and creates that are under way".to_owned()));
    Lock::exclusive(&path).map_err(Error::state(&path))
}

/// Whether somebody has used a path since then; images are looked at in another way.
fn was_used(entry: &Entry, begun: u64) -> bool {
    let mark = match entry.kind {
        Kind::Repository => "package.json",
        Kind::Archive => "archive.json",
        _ => return false,
    };
    let mark = std::path::Path::new(&entry.id).join(mark);
    mark.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|modified| seconds(modified) > begun)
}

fn cleaned(inventory: &Inventory, chosen: &[usize], request: &CleanRequest) -> Cleaned {
    let entry = |index: &usize| inventory.items[*index].entry.clone();
    let named = |index: &usize| {
        let entry = &inventory.items[*index].entry;
        entry.needed.is_some() && request.names.iter().any(|name| super::select::is_called(entry, name))
    };
    Cleaned {
        removed: chosen.iter().map(entry).collect(),
        kept: (0..inventory.items.len()).filter(named).map(|index| entry(&index)).collect(),
        freed: inventory.freed(chosen),
        locks: 0,
        dry_run: request.dry_run,
    }
}
