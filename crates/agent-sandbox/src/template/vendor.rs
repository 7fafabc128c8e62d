//! A template with all it needs in one file.

use std::path::{Path, PathBuf};

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::vendored::{VendorRequest, write};
use abx_source::{Lineage, PackageRoot};
use serde::Serialize;

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
    let _in_use = context.use_store().await;
    let lineage = super::lineage(context, reference, options, progress).await?;
    let built = super::build_lineage(context, &lineage, options, progress).await?;
    let (name, version) = named(&lineage, reference);
    let out = out.map_or_else(|| PathBuf::from(format!("{name}-{version}.abx.tar")), Path::to_owned);
    let (path, store, lock) = (context.cwd.join(&out), context.store(), lock(&lineage)?);
    let vendored = blocking(progress, move |progress| {
        let (name, version) = (name.as_str(), version.as_str());
        let (lineage, image, lock) = (&lineage, &built.image, lock.as_deref());
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

/// The lock that lies beside the template.
fn lock(lineage: &Lineage) -> Result<Option<String>, Error> {
    let Some(PackageRoot::Dir(root)) = lineage.leaf().map(|package| &package.root) else { return Ok(None) };
    let path = root.join(abx_source::lock::FILE);
    match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some).map_err(Error::package_file(&path)),
    }
}
