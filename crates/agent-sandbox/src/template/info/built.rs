//! Whether a template is built here.

use abx_image::{ImageStore, LayerId};
use abx_source::{BaseImage, Lineage};

use crate::template::build::remembered;
use crate::{Context, Error};

/// The layers that a template has been built to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuiltHere {
    layers: Vec<LayerId>,
}

impl BuiltHere {
    /// `None` where some of it would have to be fetched or built.
    pub(crate) fn of(context: &Context, lineage: &Lineage) -> Result<Option<Self>, Error> {
        let store = context.store();
        if lineage.packages.iter().any(|package| package.dockerfile.is_some()) {
            // What its instructions come to is known by having gone through them.
            let image = remembered::recall(context, &store, lineage)?;
            return Ok(image.map(|image| Self { layers: image.layers }));
        }
        let base = match &lineage.base {
            BaseImage::Image { name, .. } => crate::base_image::known(context, &store, name)?,
            BaseImage::Stored { name, tag, .. } => match store.lookup(name, tag)? {
                Some(id) => store.image(&id)?,
                None => None,
            },
            BaseImage::Vendored { .. } | BaseImage::Scratch => None,
        };
        let Some(base) = base else { return Ok(None) };
        Ok(abx_build::stored_layers(&store, lineage, &base)?.map(|layers| Self { layers }))
    }

    /// Bytes on disk.
    pub(crate) fn size(&self, store: &ImageStore) -> Result<u64, Error> {
        Ok(store.layers_size(&self.layers)?)
    }

    /// When the last of it was made, in seconds since 1970.
    pub(crate) fn created(&self, store: &ImageStore) -> Result<Option<u64>, Error> {
        Ok(match self.layers.last() {
            Some(layer) => store.layer(layer)?.map(|record| record.created),
            None => None,
        })
    }
}
