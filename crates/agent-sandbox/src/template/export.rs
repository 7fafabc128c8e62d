//! An image as one file.

use std::path::Path;

use abx_image::ExportOptions;

use crate::{Context, Error};

/// Writes a local template's image as one archive that `docker load`, `podman load` and `skopeo` read.
/// Returns the digest of its manifest.
pub fn export(context: &Context, name: &str, tag: &str, out: &Path) -> Result<String, Error> {
    // An image without a template of its own can be exported as well.
    let packages = abx_source::kept::packages(&context.home, name, tag).unwrap_or_default();
    let store = context.store_of(packages.last().and_then(|package| package.committed));
    let missing = || Error::NoLocalTemplate { name: name.into(), tag: tag.into() };
    let image =
        store.lookup(name, tag)?.and_then(|id| store.image(&id).transpose()).ok_or_else(missing)??;
    let names = [format!("{name}:{tag}")];
    let exported = store.export_oci_file(&image, &[&names[0]], ExportOptions { gzip: true }, out)?;
    Ok(exported.manifest.to_string())
}
