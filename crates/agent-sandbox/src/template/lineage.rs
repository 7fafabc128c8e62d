//! Text to lineage, for whatever is done with a template afterwards.

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::{Lineage, SourceContext};

use crate::{Context, Error, FetchOptions};

/// Text to lineage, for a build: the template and its ancestors, fetched where they are not at hand.
pub(crate) async fn lineage(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Lineage, Error> {
    if matches!(Reference::parse(reference), Ok(Reference::Github(_))) {
        // Before a byte is fetched for nothing.
        abx_isolate::require_root()?;
    }
    let source = fetch(context, reference, options, progress).await?;
    Ok(abx_source::resolve(reference, &source)?)
}

/// Has everything on disk that resolving takes.
pub(crate) async fn fetch(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<SourceContext, Error> {
    let settings = crate::github::settings(context, options);
    Ok(abx_source::fetch(reference, &context.source(), &settings, progress).await?)
}
