use abx_core::Fault;
use agent_sandbox::FetchOptions;
use agent_sandbox::template;
use serde_json::json;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::ValidateArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};
use crate::report::{ErrorObject, warning_text};

/// Says that a template is sound and what is questionable in it; faults come as the error.
pub(super) async fn validate(edge: &Edge, args: &ValidateArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let work = template::validate(&edge.context, &args.reference, &options, &progress);
    let report = interruptible(&progress, work).await?;
    drop(progress);
    let metadata = report.lineage.effective().metadata;
    for warning in &report.warnings {
        edge.printer.note(&warning_text(warning, edge.printer.paint()));
    }
    let warnings: Vec<ErrorObject> =
        report.warnings.iter().map(|warning| ErrorObject::new(warning as &dyn Fault)).collect();
    let value = json!({
        "valid": true, "name": metadata.name, "version": metadata.version, "warnings": warnings,
    });
    edge.printer.result(&value, &format!("{} {} is valid", metadata.name, metadata.version))?;
    Ok(0)
}
