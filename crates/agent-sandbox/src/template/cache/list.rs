//! What is kept.

use serde::Serialize;

use super::inventory::inventory;
use super::{Entry, Kind};
use crate::{Context, Error};

/// Everything that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// By kind, the largest first.
    pub entries: Vec<Entry>,
    pub totals: Vec<Total>,
    /// Bytes of all.
    pub size: u64,
}

/// All entries of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Total {
    pub kind: Kind,
    pub entries: usize,
    /// Bytes; layers that several images have count once.
    pub size: u64,
    /// Bytes in entries that cleaning may remove.
    pub removable: u64,
}

/// Looks at everything that is kept. Blocks: sizes are counted file by file.
pub fn list(context: &Context) -> Result<Listing, Error> {
    let inventory = inventory(context)?;
    let mut entries: Vec<Entry> = inventory.items.iter().map(|item| item.entry.clone()).collect();
    entries
        .sort_by_key(|entry| (entry.kind, std::cmp::Reverse(entry.size + entry.shared), entry.name.clone()));
    let mut totals = Vec::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&Entry> = entries.iter().filter(|entry| entry.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let (size, removable) = match kind {
            Kind::Image => (inventory.image_bytes, inventory.removable_image_bytes),
            _ => {
                let free = of_kind.iter().filter(|entry| entry.needed.is_none());
                (of_kind.iter().map(|entry| entry.size).sum(), free.map(|entry| entry.size).sum())
            }
        };
        totals.push(Total { kind, entries: of_kind.len(), size, removable });
    }
    let size = totals.iter().map(|total| total.size).sum();
    Ok(Listing { entries, totals, size })
}
