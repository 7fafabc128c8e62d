//! Templates: resolve, validate, build, list, export.

use std::path::Path;

use abx_build::{Builder, Built};
use abx_core::{Progress, Secret};
use abx_image::ExportOptions;
use abx_reference::Reference;
use abx_source::{BaseImage, Lineage, PackageRoot, SourceContext};
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

/// What a reference comes to: something that does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// `built-in`, `local`, `image`, `directory` or `github`.
    pub kind: &'static str,
    pub owner: Option<String>,
    pub repo: Option<String>,
    pub subdir: Option<String>,
    /// As it was asked for; absent where the default branch was.
    #[serde(rename = "ref")]
    pub git_ref: Option<String>,
    pub commit: Option<String>,
    /// Of the package's content, or of the image.
    pub digest: Option<String>,
    /// The one spelling of the reference that stands for the same next year.
    pub canonical: String,
}

/// Text to lineage, for a build: the template and its ancestors, fetched where they are not at hand.
pub async fn resolve(
    context: &Context,
    reference: &str,
    token: Option<&Secret>,
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Lineage, Error> {
    if matches!(Reference::parse(reference), Ok(Reference::Github(_))) {
        // Before a byte is fetched for nothing.
        abx_isolate::require_root()?;
    }
    let source = fetch(context, reference, token, options, progress).await?;
    Ok(abx_source::resolve(reference, &source)?)
}

/// Has everything on disk that resolving takes.
async fn fetch(
    context: &Context,
    reference: &str,
    token: Option<&Secret>,
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<SourceContext, Error> {
    let settings = crate::github::settings(context, token, options);
    Ok(abx_source::fetch(reference, &context.source(), &settings, progress).await?)
}

/// Says what a reference stands for now, without building it.
pub async fn pin(
    context: &Context,
    reference: &str,
    token: Option<&Secret>,
    options: BuildOptions,
    progress: &dyn Progress,
) -> Result<Resolved, Error> {
    let parsed = Reference::parse(reference).map_err(abx_source::SourceError::from)?;
    let settings = crate::github::settings(context, token, options);
    let source = abx_source::fetch_leaf(&parsed, &context.source(), &settings, progress).await?;
    let leaf = abx_source::leaf(&parsed, &source)?;
    let digest = leaf.as_ref().map(abx_source::Package::digest).transpose()?;
    let mut resolved = Resolved {
        kind: "image",
        owner: None,
        repo: None,
        subdir: None,
        git_ref: None,
        commit: None,
        digest,
        canonical: parsed.to_string(),
    };
    match &parsed {
        Reference::Github(github) => {
            resolved.kind = "github";
            resolved.owner = Some(github.owner().to_owned());
            resolved.repo = Some(github.repository().to_owned());
            resolved.subdir = github.subdirectory().map(str::to_owned);
            resolved.git_ref = github.git_ref().map(ToString::to_string);
            if let Some(checkout) = source.checkouts.iter().find(|checkout| checkout.serves(github)) {
                resolved.commit = Some(checkout.commit.clone());
                resolved.canonical = github.at(&checkout.commit).to_string();
            }
        }
        Reference::Local(_) => resolved.kind = "directory",
        Reference::Registry(image) => {
            resolved.digest = image.digest().map(str::to_owned);
        }
        Reference::Name(_) => match leaf {
            Some(package) if !matches!(package.root, PackageRoot::Stored { .. }) => {
                resolved.kind = "built-in";
                let metadata = &package.spec.metadata;
                resolved.canonical = format!("{}:{}", metadata.name, metadata.version);
            }
            _ => {
                resolved.kind = "local";
                if let BaseImage::Stored { name, tag, .. } = abx_source::resolve(reference, &source)?.base {
                    resolved.digest = context.store().lookup(&name, &tag)?.map(|id| id.0);
                    resolved.canonical = format!("{name}:{tag}");
                }
            }
        },
    }
    Ok(resolved)
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
    let lineage = resolve(context, reference, None, options, progress).await?;
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
    // A store whose mode cannot be changed cannot be written to either.
    let _ = context.home.keep_store_private();
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
pub async fn validate(
    context: &Context,
    reference: &str,
    progress: &dyn Progress,
) -> Result<abx_source::Report, Error> {
    let source = fetch(context, reference, None, BuildOptions::default(), progress).await?;
    Ok(abx_source::validate(reference, &source)?)
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
