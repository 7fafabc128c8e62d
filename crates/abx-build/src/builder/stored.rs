//! What a lineage has been built to, without building it.

use abx_image::{Image, ImageStore, LayerId};
use abx_source::Lineage;

use super::records;
use crate::error::BuildError;

/// The layers that building `lineage` on `base` would come to, bottom first, where all of them are in the store.
pub fn stored_layers(
    store: &ImageStore,
    lineage: &Lineage,
    base: &Image,
) -> Result<Option<Vec<LayerId>>, BuildError> {
    let members = crate::members(lineage)?;
    let renewals = records::renewals(store.home(), false)?;
    let plan = crate::plan(&members, base, &renewals);
    let are_here = plan.steps.iter().all(|step| store.has_layer(&step.key));
    let own = plan.steps.into_iter().map(|step| step.key);
    Ok(are_here.then(|| base.layers.iter().cloned().chain(own).collect()))
}
