//! A closer look than a build takes.

use abx_core::Progress;

use crate::{Context, Error, FetchOptions};

/// Resolves a template and looks for what would surprise later: warnings, each with its place.
///
/// # Errors
/// What stands in the way of a build; all faults of a file at once.
pub async fn validate(
    context: &Context,
    reference: &str,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<abx_source::Report, Error> {
    let _in_use = context.look_at_store().await;
    let source = super::fetch(context, reference, options, progress).await?;
    let report = abx_source::validate(reference, &source)?;
    crate::lock::check(reference, &report.lineage, &source, options, progress)?;
    Ok(report)
}
