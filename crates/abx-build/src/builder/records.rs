//! What a build remembers besides layers.
//!
//! ```text
//! store/plans/<digest>   the image that these layers and this configuration have come to
//! store/renewed/<key>    the layer that `--no-cache` made last for a step with this key
//! ```

use std::collections::BTreeMap;

use abx_core::Home;
use abx_core::fs::write_atomic;
use abx_image::{Image, ImageConfig, ImageId, ImageStore, LayerId};

use crate::error::BuildError;
use crate::key::Hasher;
use crate::member::Member;
use crate::plan::Renewals;
use crate::step::Step;

/// The renewals so far, and for a build without cache a salt nobody had before.
pub(crate) fn renewals(home: &Home, no_cache: bool) -> Result<Renewals, BuildError> {
    let directory = home.store("renewed");
    let mut known = BTreeMap::new();
    if let Ok(entries) = std::fs::read_dir(&directory) {
        for entry in entries.flatten() {
            let key = entry.file_name().to_string_lossy().into_owned();
            if let Ok(layer) = std::fs::read_to_string(entry.path())
                && key.len() == 64
                && layer.len() == 64
            {
                known.insert(LayerId(key), LayerId(layer));
            }
        }
    }
    let salt = no_cache.then(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        format!("{}-{}", std::process::id(), now.as_nanos())
    });
    Ok(Renewals { known, salt })
}

/// Has later builds use the layers of `steps` for what they would have used without `--no-cache`: naming the
/// first is enough, since all keys above follow from it.
pub(crate) fn renew(home: &Home, members: &[Member], base: &Image, steps: &[Step]) -> Result<(), BuildError> {
    let plain = crate::plan(members, base, &Renewals::default());
    let (Some(before), Some(after)) = (plain.steps.first(), steps.first()) else { return Ok(()) };
    let path = home.store("renewed").join(&before.key.0);
    write_atomic(&path, after.key.0.as_bytes()).map_err(BuildError::state("write", path))
}

/// The image of `layers` and `config`, recorded where it is new.
pub(crate) fn image(
    store: &ImageStore,
    layers: Vec<LayerId>,
    config: ImageConfig,
    base: &Image,
) -> Result<Image, BuildError> {
    if layers == base.layers && config == base.config {
        return Ok(base.clone());
    }
    let config_text = serde_json::to_vec(&(&config, &base.origin)).unwrap_or_default();
    let digest = Hasher::new("plan").list(layers.iter().map(|layer| &layer.0)).field(config_text).hex();
    let path = store.home().store("plans").join(digest);
    if let Ok(id) = std::fs::read_to_string(&path)
        && let Some(image) = store.image(&ImageId(id))?
    {
        return Ok(image);
    }
    let image = store.put_image(layers, config, base.origin.clone())?;
    // Others may come to the same image at the same time.
    write_atomic(&path, image.id.0.as_bytes()).map_err(BuildError::state("write", path))?;
    Ok(image)
}
