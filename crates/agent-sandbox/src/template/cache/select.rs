//! Which entries a request means.

use super::entry::Item;
use super::inventory::Inventory;
use super::{CleanRequest, Entry, Kind};
use crate::Error;

/// The indexes of what shall go: nothing that is needed is among them.
pub(super) fn select(inventory: &Inventory, request: &CleanRequest, now: u64) -> Result<Vec<usize>, Error> {
    for name in &request.names {
        if !inventory.items.iter().any(|item| is_called(&item.entry, name)) {
            return Err(Error::NotCached { name: name.clone() });
        }
    }
    let wanted = |item: &Item| {
        let entry = &item.entry;
        entry.needed.is_none()
            && request.kind.is_none_or(|kind| entry.kind == kind)
            && (request.names.is_empty() || request.names.iter().any(|name| is_called(entry, name)))
            && request.older_than.is_none_or(|seconds| item.age(now) >= seconds)
            && request.larger_than.is_none_or(|bytes| entry.size > bytes)
    };
    let is_modest = !request.all
        && request.names.is_empty()
        && request.kind.is_none()
        && (request.older_than, request.larger_than, request.keep_under) == (None, None, None);
    let mut chosen: Vec<usize> = (0..inventory.items.len())
        .filter(|index| wanted(&inventory.items[*index]))
        .filter(|index| !is_modest || inventory.items[*index].entry.kind == Kind::Leftover)
        .collect();
    if let Some(bytes) = request.keep_under {
        chosen.sort_by_key(|index| std::cmp::Reverse(inventory.items[*index].age(now)));
        chosen = oldest_until(inventory, &chosen, bytes);
    }
    Ok(chosen)
}

/// As many of `candidates`, in their order, as it takes to leave no more than `bytes`.
fn oldest_until(inventory: &Inventory, candidates: &[usize], bytes: u64) -> Vec<usize> {
    let all = inventory.size();
    let enough = |count: &usize| all.saturating_sub(inventory.freed(&candidates[..*count])) <= bytes;
    let count = (0..=candidates.len()).find(enough).unwrap_or(candidates.len());
    candidates[..count].to_vec()
}

/// Whether a user may mean this entry: its name, one that stands for it, the start of its id or commit.
pub(super) fn is_called(entry: &Entry, name: &str) -> bool {
    /// Shorter ones are words.
    const ID: usize = 7;
    let starts = |id: &str| name.len() >= ID && id.starts_with(name);
    let with_ref = |name: &str| {
        let (plain, of) = name.split_once('@')?;
        let is_ref = entry.refs.iter().any(|known| known == of)
            || entry.commit.as_deref().is_some_and(|commit| of.len() >= ID && commit.starts_with(of));
        Some(entry.name.eq_ignore_ascii_case(plain) && is_ref)
    };
    let untagged = |known: &str| known.split(':').next() == Some(name);
    entry.name.eq_ignore_ascii_case(name)
        || untagged(&entry.name)
        || (entry.kind == Kind::Image && entry.refs.iter().any(|known| known == name || untagged(known)))
        || with_ref(name).unwrap_or(false)
        || starts(&entry.id)
        || entry.commit.as_deref().is_some_and(starts)
}
