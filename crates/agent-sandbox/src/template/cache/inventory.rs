//! Everything that is kept, and what of it must stay.

mod claims;
mod files;
mod images;
mod sources;

use std::collections::{BTreeSet, HashMap};

use abx_image::{Image, ImageId, LayerId};

use super::entry::{Item, Target};
use super::{Entry, Kind};
use crate::{Context, Error};
pub(super) use claims::needed_now;
use files::{files, leftovers};
use images::images;
use sources::sources;

/// All entries, and what they come to.
pub(super) struct Inventory {
    pub(super) items: Vec<Item>,
    pub(super) images: Images,
    /// Bytes of the layers of all images, each once.
    pub(super) image_bytes: u64,
    /// Bytes of those that nothing needs.
    pub(super) removable_image_bytes: u64,
}

/// Images and layers, as they belong together.
pub(super) struct Images {
    pub(super) images: Vec<Image>,
    /// Layers of images that must stay, and of live sandboxes.
    pub(super) needed: BTreeSet<LayerId>,
    pub(super) sizes: HashMap<LayerId, u64>,
}

impl Inventory {
    /// Bytes of everything.
    pub(super) fn size(&self) -> u64 {
        let others = self.items.iter().filter(|item| item.entry.kind != Kind::Image);
        self.image_bytes + others.map(|item| item.entry.size).sum::<u64>()
    }

    /// Bytes that go with the entries `chosen`.
    pub(super) fn freed(&self, chosen: &[usize]) -> u64 {
        let entries = chosen.iter().map(|index| &self.items[*index].entry);
        let others = entries.filter(|entry| entry.kind != Kind::Image).map(|entry| entry.size).sum::<u64>();
        let layers = self.freed_layers(chosen);
        others + layers.iter().filter_map(|layer| self.images.sizes.get(layer)).sum::<u64>()
    }

    /// The images among the entries `chosen`.
    pub(super) fn images_among(&self, chosen: &[usize]) -> BTreeSet<&ImageId> {
        let image = |index: &usize| match &self.items[*index].target {
            Target::Image(id) => Some(id),
            _ => None,
        };
        chosen.iter().filter_map(image).collect()
    }

    /// Layers that only images among `chosen` have, and that nothing needs.
    pub(super) fn freed_layers(&self, chosen: &[usize]) -> BTreeSet<LayerId> {
        let gone = self.images_among(chosen);
        let (gone, left): (Vec<&Image>, Vec<&Image>) =
            self.images.images.iter().partition(|image| gone.contains(&image.id));
        let kept: BTreeSet<&LayerId> = left.into_iter().flat_map(|image| &image.layers).collect();
        let layers = gone.into_iter().flat_map(|image| &image.layers);
        layers
            .filter(|layer| !kept.contains(layer) && !self.images.needed.contains(*layer))
            .cloned()
            .collect()
    }
}

/// Looks at everything. Blocks.
pub(super) fn inventory(context: &Context) -> Result<Inventory, Error> {
    let mut items = sources(context)?;
    let (images, of_images) = images(context)?;
    items.extend(of_images);
    items.extend(files(context, "store/cache", Kind::Download));
    items.extend(files(context, "logs", Kind::Log));
    items.extend(leftovers(context));
    let all: BTreeSet<&LayerId> = images.images.iter().flat_map(|image| &image.layers).collect();
    let bytes = |layer: &&LayerId| images.sizes.get(*layer).copied().unwrap_or(0);
    let image_bytes = all.iter().map(bytes).sum();
    let removable = all.iter().filter(|layer| !images.needed.contains(**layer));
    let removable_image_bytes = removable.map(bytes).sum();
    Ok(Inventory { items, images, image_bytes, removable_image_bytes })
}

fn plain(name: String, size: u64, made: Option<u64>, id: String) -> Entry {
    Entry {
        kind: Kind::Leftover,
        name,
        size,
        shared: 0,
        made,
        used: None,
        origin: None,
        commit: None,
        refs: Vec::new(),
        needed: None,
        id,
    }
}

/// As much of an id as tells it from others.
pub(super) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
