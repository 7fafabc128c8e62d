//! Lineage in, image out.

use abx_build::{Builder, Built};
use abx_core::Progress;
use abx_source::Lineage;

use crate::{Context, Error, FetchOptions};

/// Builds a template and gives the result a local name. Returns the image's id.
pub async fn build(
    context: &Context,
    reference: &str,
    name: Option<&str>,
    tag: Option<&str>,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<String, Error> {
    let tag = tag.unwrap_or("latest");
    // Before the long work, not after it.
    name.map(|name| abx_source::check_local_name(name, tag)).transpose()?;
    let _in_use = context.use_store().await;
    let lineage = super::lineage(context, reference, options, progress).await?;
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
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Built, Error> {
    // Before a byte is fetched for nothing.
    abx_isolate::require_root()?;
    // A store whose mode cannot be changed cannot be written to either.
    let _ = context.home.keep_store_private();
    let store = context.store();
    let base = crate::base_image::base_image(context, &store, lineage, options, progress).await?;
    let builder = Builder {
        store,
        home: context.home.clone(),
        host: context.host.clone(),
        exe: context.exe.clone(),
        no_cache: options.no_cache,
        offline: options.offline,
        limits: abx_build::Limits::default(),
    };
    let built = builder.build(lineage, base, progress).await?;
    builder.store.touch_image(&built.image.id);
    Ok(built)
}
