//! Templates: resolve, validate, build, list, export.

use std::path::Path;

use abx_build::{Builder, Built};
use abx_core::Progress;
use abx_image::ExportOptions;
use abx_source::Lineage;
use serde::Serialize;

use crate::{Context, CreateRequest, Error};

/// How to build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    /// Builds every step anew.
    pub no_cache: bool,
    /// Never leaves this machine.
    pub offline: bool,
}

impl From<&CreateRequest> for BuildOptions {
    fn from(request: &CreateRequest) -> Self {
        Self { no_cache: request.no_cache, offline: request.offline }
    }
}

/// A local template: `name:tag` and the image it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub name: String,
    pub tag: String,
    /// `built-in` or `local`.
    pub kind: &'static str,
    pub description: Option<String>,
    /// Image id; `None` for a built-in that has not been built here.
    pub image: Option<String>,
}

/// Text to lineage: the template and its ancestors.
pub fn resolve(context: &Context, reference: &str) -> Result<Lineage, Error> {
    Ok(abx_source::resolve(reference, &context.source())?)
}

/// Builds a template and gives the result a local name. Returns the image's id.
pub async fn build(
    context: &Context,
    reference: &str,
    name: Option<&str>,
    tag: Option<&str>,
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<String, Error> {
    let tag = tag.unwrap_or("latest");
    // Before the long work, not after it.
    name.map(|name| abx_source::check_local_name(name, tag)).transpose()?;
    let lineage = resolve(context, reference)?;
    let built = build_lineage(context, &lineage, options, progress).await?;
    let name = name.unwrap_or(&built.effective.metadata.name);
    // The specification before the tag: a name that can be found has both.
    abx_source::keep(&context.home, name, tag, &lineage)?;
    context.store().tag(name, tag, &built.image.id)?;
    Ok(built.image.id.0)
}

/// Gets the base image and builds every step on it.
pub(crate) async fn build_lineage(
    context: &Context,
    lineage: &Lineage,
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Built, Error> {
    // Before a byte is fetched for nothing.
    abx_isolate::require_root()?;
    let store = context.store();
    let base = crate::base_image::base_image(context, &store, &lineage.base, options, progress).await?;
    let builder = Builder {
        store,
        home: context.home.clone(),
        host: context.host.clone(),
        exe: context.exe.clone(),
        no_cache: options.no_cache,
        offline: options.offline,
        limits: abx_build::Limits::default(),
    };
    Ok(builder.build(lineage, base, progress).await?)
}

/// Resolves a template and looks for what would surprise later: warnings, each with its place.
///
/// # Errors
/// What stands in the way of a build; all faults of a file at once.
pub fn validate(context: &Context, reference: &str) -> Result<abx_source::Report, Error> {
    Ok(abx_source::validate(reference, &context.source())?)
}

/// Built-in and local templates.
pub fn list(context: &Context) -> Result<Vec<Listed>, Error> {
    let builtin = |package: &abx_source::Builtin| {
        let text = package.file("template.yaml").map(|file| String::from_utf8_lossy(file.content));
        let parsed = text.and_then(|text| abx_spec::parse(&text, package.name).ok());
        let metadata = parsed.map(|parsed| parsed.spec.metadata);
        Listed {
            name: package.name.to_owned(),
            tag: metadata.as_ref().map(|metadata| metadata.version.clone()).unwrap_or_default(),
            kind: "built-in",
            description: metadata.and_then(|metadata| metadata.description),
            image: None,
        }
    };
    let local = |tag: abx_image::Tag| Listed {
        name: tag.name,
        tag: tag.tag,
        kind: "local",
        description: None,
        image: Some(tag.image.0),
    };
    let mut listed: Vec<Listed> = abx_source::builtins().iter().map(builtin).collect();
    listed.extend(context.store().list()?.into_iter().map(local));
    Ok(listed)
}

/// Writes a local template's image as one archive that `docker load`, `podman load` and `skopeo` read.
/// Returns the digest of its manifest.
pub fn export(context: &Context, name: &str, tag: &str, out: &Path) -> Result<String, Error> {
    let store = context.store();
    let missing = || Error::NoLocalTemplate { name: name.into(), tag: tag.into() };
    let image =
        store.lookup(name, tag)?.and_then(|id| store.image(&id).transpose()).ok_or_else(missing)??;
    let names = [format!("{name}:{tag}")];
    let exported = store.export_oci_file(
        &image,
        &[&names[0]],
        ExportOptions { gzip: true, ..ExportOptions::default() },
        out,
    )?;
    Ok(exported.manifest.to_string())
}
