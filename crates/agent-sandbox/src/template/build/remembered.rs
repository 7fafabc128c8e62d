//! What a lineage with a Dockerfile in it came to, so that it can be told without going through the instructions again:
//! an entry of `store/plans/`, which goes with its image.

use abx_core::fs::write_atomic;
use abx_image::{Digest, Image, ImageId, ImageStore};
use abx_source::{BaseImage, Lineage};

use crate::{Context, Error};

/// Notes what `lineage` was built to. Without the note it only looks as if it were not built, so that it cannot be
/// written is no reason to fail.
pub(super) fn remember(context: &Context, lineage: &Lineage, image: &Image) {
    if let Ok(key) = key(context, lineage) {
        let _ = write_atomic(&context.home.store("plans").join(key), image.id.0.as_bytes());
    }
}

/// What the same files on the same images came to; `None` where that is not here.
pub(crate) fn recall(
    context: &Context,
    store: &ImageStore,
    lineage: &Lineage,
) -> Result<Option<Image>, Error> {
    match std::fs::read_to_string(context.home.store("plans").join(key(context, lineage)?)) {
        Ok(id) => Ok(store.image(&ImageId(id))?),
        Err(_) => Ok(None),
    }
}

/// Covers everything that the image depends on and that is known before the build.
fn key(context: &Context, lineage: &Lineage) -> Result<String, Error> {
    let mut parts = vec!["lineage".to_owned()];
    add(context, lineage, &mut parts)?;
    let bytes =
        serde_json::to_vec(&parts).map_err(|error| Error::LayerUnreadable { source: error.into() })?;
    Ok(Digest::of(&bytes).hex().to_owned())
}

fn add(context: &Context, lineage: &Lineage, parts: &mut Vec<String>) -> Result<(), Error> {
    let store = context.store();
    let known = |name: &str| -> Result<String, Error> {
        let id = crate::base_image::known(context, &store, name)?.map(|image| image.id.0);
        Ok(format!("{name} {}", id.unwrap_or_default()))
    };
    parts.push(match &lineage.base {
        BaseImage::Image { name, .. } => known(name)?,
        BaseImage::Stored { name, tag, .. } => {
            store.lookup(name, tag)?.map_or_else(String::new, |image| image.0)
        }
        BaseImage::Vendored { vendored, .. } => vendored.image.to_string(),
        BaseImage::Scratch => "scratch".to_owned(),
    });
    for package in &lineage.packages {
        parts.push(package.digest()?);
        let Some(dockerfile) = package.dockerfile.as_deref() else { continue };
        parts.push(format!("{:?} {:?}", dockerfile.inputs.arguments, dockerfile.target));
        for (name, _) in &dockerfile.images {
            parts.push(known(name)?);
        }
        for (name, lineage) in &dockerfile.templates {
            parts.push(name.clone());
            add(context, lineage, parts)?;
        }
    }
    Ok(())
}
