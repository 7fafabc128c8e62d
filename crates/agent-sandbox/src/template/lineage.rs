//! Text to lineage, for whatever is done with a template afterwards.

use abx_core::Progress;
use abx_reference::Reference;
use abx_source::{Lineage, SourceContext};

use crate::{Context, Error, FetchOptions, lock};

/// Text to lineage, for a build: the template and its ancestors, fetched where they are not at hand.
pub(crate) async fn lineage(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Lineage, Error> {
    Ok(lineage_and_source(context, reference, options, progress).await?.0)
}

/// [`lineage`], and where its members were found.
pub(crate) async fn lineage_and_source(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<(Lineage, SourceContext), Error> {
    if matches!(Reference::parse(reference), Ok(Reference::Github(_))) {
        // Before a byte is fetched for nothing.
        abx_isolate::require_root()?;
    }
    let source = fetch(context, reference, options, progress).await?;
    let lineage = abx_source::resolve(reference, &source)?;
    lock::check(reference, &lineage, &source, options, progress)?;
    if options.frozen {
        lock::check_base(context, reference, &lineage, &source, options, progress).await?;
    }
    Ok((lineage, source))
}

/// Has everything on disk that resolving takes, as it is locked where there is a lock.
pub(crate) async fn fetch(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<SourceContext, Error> {
    let settings = crate::github::settings(context, options);
    let source = lock::hold(context, reference, &settings, progress).await?;
    Ok(abx_source::fetch(reference, &source, &settings, progress).await?)
}
