//! Who needs what.

use std::collections::{BTreeMap, BTreeSet};

use abx_image::{Image, ImageId, ImageStore, LayerId, StoredImage};

use super::super::entry::Target;
use super::super::measure::seconds;
use crate::{Context, Error};

/// What is called how, and by whom it is needed.
pub(super) struct Claims {
    /// Names of local templates, by image.
    pub(super) local: BTreeMap<ImageId, Vec<String>>,
    /// Names of bases and of registries, by image.
    pub(super) names: BTreeMap<ImageId, Vec<String>>,
    /// Sandboxes that live or are stopped, by image.
    sandboxes: BTreeMap<ImageId, Vec<String>>,
    /// Layers that sandboxes run on, or are to run on again.
    pub(super) layers: BTreeSet<LayerId>,
}

impl Claims {
    pub(super) fn of(context: &Context, store: &ImageStore) -> Result<Self, Error> {
        let mut claims = Self {
            local: BTreeMap::new(),
            names: store.image_names()?,
            sandboxes: BTreeMap::new(),
            layers: BTreeSet::new(),
        };
        for tag in store.list()? {
            claims.local.entry(tag.image).or_default().push(format!("{}:{}", tag.name, tag.tag));
        }
        for found in abx_engine::list(&context.home)? {
            let settings = found.record.settings;
            let shown = settings.name.unwrap_or_else(|| found.record.id.to_string());
            claims.sandboxes.entry(ImageId(settings.image)).or_default().push(shown);
            let ids = settings.layers.iter().filter_map(|fs| fs.parent()?.file_name()?.to_str());
            claims.layers.extend(ids.map(|id| LayerId(id.to_owned())));
        }
        Ok(claims)
    }

    pub(super) fn needed(&self, id: &ImageId) -> Option<String> {
        let list = |what: &str, names: &Vec<String>| format!("{what} {}", names.join(", "));
        let local = self.local.get(id).map(|names| list("local template", names));
        let sandboxes = self.sandboxes.get(id).map(|names| list("sandbox", names));
        match (local, sandboxes) {
            (Some(local), Some(sandboxes)) => Some(format!("{local}; {sandboxes}")),
            (local, sandboxes) => local.or(sandboxes),
        }
    }
}

/// What is needed, and what there is, at this moment.
pub(in super::super) struct NeededNow {
    claims: Claims,
    stored: Vec<StoredImage>,
    layers: BTreeSet<LayerId>,
}

/// Looks at local templates, live sandboxes and images again, without measuring anything.
pub(in super::super) fn needed_now(context: &Context) -> Result<NeededNow, Error> {
    let store = context.store();
    let claims = Claims::of(context, &store)?;
    let stored = store.stored_images()?;
    let mut layers = claims.layers.clone();
    for stored in stored.iter().filter(|stored| claims.needed(&stored.id).is_some()) {
        layers.extend(stored.image.iter().flat_map(|image| image.layers.clone()));
    }
    Ok(NeededNow { claims, stored, layers })
}

impl NeededNow {
    /// Whether something that was of no use before `begun` must stay all the same.
    pub(in super::super) fn covers(&self, target: &Target, begun: u64) -> bool {
        match target {
            Target::Image(id) => self.stored.iter().filter(|stored| stored.id == *id).any(|stored| {
                let built_on = |image: &Image| image.layers.iter().all(|layer| self.layers.contains(layer));
                self.claims.needed(id).is_some()
                    || seconds(stored.used) > begun
                    || stored.image.as_ref().is_some_and(built_on)
            }),
            Target::Layer(id) => self.has(id, &BTreeSet::new()),
            Target::Path(_) | Target::Staging => false,
        }
    }

    /// Whether a layer is needed, or part of an image that is not among `gone`.
    pub(in super::super) fn has(&self, layer: &LayerId, gone: &BTreeSet<&ImageId>) -> bool {
        let left = self.stored.iter().filter(|stored| !gone.contains(&stored.id));
        self.layers.contains(layer)
            || left.filter_map(|stored| stored.image.as_ref()).any(|image| image.layers.contains(layer))
    }

    /// Whether a live sandbox has it below its feet.
    pub(in super::super) fn runs_on(&self, target: &Target) -> bool {
        matches!(target, Target::Layer(id) if self.claims.layers.contains(id))
    }
}
