//! Whatever a reference names, as a template of this machine.

use abx_core::{Event, Progress};
use abx_reference::Reference;
use abx_source::{PackageRoot, SourceError};
use serde::Serialize;

use super::BuiltLineage;
use super::IndexOptions;
use crate::{Context, Error, FetchOptions};

/// A template that `create NAME` has without asking anybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// What to give to `create`.
    pub name: String,
    /// Its version, and `latest`.
    pub tags: Vec<String>,
    /// The image's id.
    pub image: String,
    /// What the reference stood for.
    pub from: String,
}

/// Fetches a template with all it inherits from, builds it and gives it a name here.
///
/// The name is that of the catalog or of the template itself, unless `name` says otherwise. A built-in template keeps
/// its own, which needs no other.
///
/// # Errors
/// Whatever the failing stage reports; no name changes then.
pub async fn install(
    context: &Context,
    reference: &str,
    name: Option<&str>,
    index: &IndexOptions,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Installed, Error> {
    // Before the long work, not after it.
    name.map(|name| abx_source::check_local_name(name, "latest")).transpose()?;
    let mut context = context.clone();
    context.settings.template_index_url.clone_from(&index.source(&context).index);
    let parsed = Reference::parse(reference).map_err(SourceError::from)?;
    if let Reference::Registry(_) = parsed {
        return pulled(&context, reference, name, options, progress).await;
    }
    let _in_use = context.look_at_store().await;
    if index.refresh
        && let Reference::Name(_) = parsed
    {
        index.catalog(&context, &context.source(), progress).await.map_err(SourceError::from)?;
    }
    let lineage = super::lineage(&context, reference, options, progress).await?;
    let _made = context.make_store().await?;
    let BuiltLineage { built, lineage } = super::build_lineage(&context, &lineage, options, progress).await?;
    let from = super::resolve(&context, reference, options, progress).await?.canonical;
    let metadata = &built.effective.metadata;
    let image = built.image.id.0.clone();
    let is_embedded = lineage.leaf().is_some_and(|leaf| matches!(leaf.root, PackageRoot::Embedded(_)));
    if is_embedded && name.is_none() {
        let (name, tags) = (metadata.name.clone(), vec![metadata.version.clone()]);
        return Ok(Installed { name, tags, image, from });
    }
    if let Some(name) = name.filter(|name| abx_source::is_taken(name)) {
        let text =
            format!("`{name}` is the name of an official template, which goes before: give another --name");
        progress.event(Event::Warning(text));
    }
    let name = name.unwrap_or_else(|| own_name(&parsed, &metadata.name)).to_owned();
    let mut tags = vec!["latest".to_owned()];
    if metadata.version != abx_spec::limits::DEFAULT_VERSION && !metadata.version.is_empty() {
        tags.insert(0, metadata.version.clone());
    }
    for tag in &tags {
        // The specification before the tag: a name that can be found has both.
        abx_source::keep(&context.home, &name, tag, &lineage)?;
        context.store().tag(&name, tag, &built.image.id)?;
    }
    Ok(Installed { name, tags, image, from })
}

/// An image of a registry is whole: nothing is left to build.
async fn pulled(
    context: &Context,
    reference: &str,
    name: Option<&str>,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Installed, Error> {
    let pulled = super::pull(context, reference, name, options, progress).await?;
    let local = pulled.name.unwrap_or_default();
    let (name, tag) = local.split_once(':').unwrap_or((&local, "latest"));
    let (name, tags) = (name.to_owned(), vec![tag.to_owned()]);
    Ok(Installed { name, tags, image: pulled.image, from: pulled.canonical })
}

/// What people will call it: as they have done, else as the template calls itself.
fn own_name<'n>(reference: &'n Reference, template: &'n str) -> &'n str {
    match reference {
        Reference::Name(name) => name.name(),
        _ => template,
    }
}
