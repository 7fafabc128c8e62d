//! Whatever a reference names, as a template of this machine.

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::{PackageRoot, SourceError};
use serde::Serialize;

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
    let _in_use = context.use_store().await;
    if index.refresh
        && let Reference::Name(_) = parsed
    {
        index.catalog(&context, &context.source(), progress).await.map_err(SourceError::from)?;
    }
    let lineage = super::lineage(&context, reference, options, progress).await?;
    let built = super::build_lineage(&context, &lineage, options, progress).await?;
    let from = super::resolve(&context, reference, options, progress).await?.canonical;
    let metadata = &built.effective.metadata;
    let image = built.image.id.0.clone();
    let is_embedded = lineage.leaf().is_some_and(|leaf| matches!(leaf.root, PackageRoot::Embedded(_)));
    if is_embedded && name.is_none() {
        let (name, tags) = (metadata.name.clone(), vec![metadata.version.clone()]);
        return Ok(Installed { name, tags, image, from });
    }
    let name = name.map_or_else(|| own_name(&parsed, &metadata.name), str::to_owned);
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

/// What people will call it: as they have done, else as the template or the image calls itself.
fn own_name(reference: &Reference, template: &str) -> String {
    match reference {
        Reference::Name(name) => name.name().to_owned(),
        Reference::Registry(image) => {
            let path = image.repository();
            path.rsplit('/').next().unwrap_or(path).to_owned()
        }
        _ => template.to_owned(),
    }
}
