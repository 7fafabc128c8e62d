//! A template with all it needs in one file.

use std::path::{Path, PathBuf};

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::lock::{HERE, Lock, describe};
use abx_source::vendored::{VendorRequest, write};
use abx_source::{BaseImage, Lineage, PackageRoot, SourceContext};
use serde::Serialize;

use super::BuiltLineage;
use crate::blocking::blocking;
use crate::{Context, Error, FetchOptions};

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VendoredFile {
    pub file: PathBuf,
    pub name: String,
    pub version: String,
    /// Of the image's manifest.
    pub digest: String,
    /// Bytes.
    pub size: u64,
}

/// Builds a template and writes its lineage, lock and image to one file: `out`, or `<name>-<version>.abx.tar` in the
/// working directory. What is there already is replaced.
pub async fn vendor(
    context: &Context,
    reference: &str,
    out: Option<&Path>,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<VendoredFile, Error> {
    let _in_use = context.look_at_store().await;
    let (lineage, source) = super::lineage_and_source(context, reference, options, progress).await?;
    let _made = context.make_store().await?;
    let BuiltLineage { built, lineage: as_built } =
        super::build_lineage(context, &lineage, options, progress).await?;
    let (name, version) = named(&lineage, reference);
    let out = out.map_or_else(|| PathBuf::from(format!("{name}-{version}.abx.tar")), Path::to_owned);
    let lock = lock(context, reference, &lineage, &source)?;
    let (path, store) = (context.cwd.join(&out), context.store_of(lineage.committed()));
    let vendored = blocking(progress, move |progress| {
        let (name, version) = (name.as_str(), version.as_str());
        let (lineage, image, lock) = (&as_built, &built.image, lock.as_deref());
        let request = VendorRequest { name, version, lineage, image, lock };
        write(&request, &store, &path, progress)
    })
    .await?;
    let size = vendored.file.metadata().map_err(Error::package_file(&vendored.file))?.len();
    let digest = vendored.image.to_string();
    Ok(VendoredFile { file: out, name: vendored.name, version: vendored.version, digest, size })
}

/// The template's name and version; an image that was named directly has its own.
fn named(lineage: &Lineage, reference: &str) -> (String, String) {
    if let Some(package) = lineage.leaf() {
        return (package.name.clone(), package.spec.metadata.version.clone());
    }
    let image = match Reference::parse(reference) {
        Ok(Reference::Registry(image)) => image.image(),
        _ => reference.to_owned(),
    };
    let image = image.rsplit('/').next().unwrap_or_default();
    let image = image.split('@').next().unwrap_or_default();
    let (name, tag) = image.split_once(':').unwrap_or((image, "latest"));
    (name.to_owned(), tag.to_owned())
}

/// What the lineage came to here, to be read; an image that was named directly has nothing to lock.
fn lock(
    context: &Context,
    reference: &str,
    lineage: &Lineage,
    source: &SourceContext,
) -> Result<Option<String>, Error> {
    let Some(leaf) = lineage.leaf() else { return Ok(None) };
    let top = match &leaf.root {
        PackageRoot::Dir(root) if source.checkouts.iter().all(|known| !root.starts_with(&known.root)) => HERE,
        _ => reference,
    };
    let base = match &lineage.base {
        BaseImage::Image { name, .. } => crate::base_image::known_state(context, &context.store(), name)?,
        BaseImage::Stored { .. } | BaseImage::Vendored { .. } | BaseImage::Scratch => None,
    };
    let known = |name: &String| crate::base_image::known_state(context, &context.store(), name).transpose();
    let images = lineage.images().iter().filter_map(known).collect::<Result<_, _>>()?;
    Ok(Some(Lock { templates: describe(lineage, top, source)?, base, images }.to_string()))
}
