use agent_sandbox::FetchOptions;
use agent_sandbox::template;
use serde_json::json;

use crate::Failure;
use crate::cli::template::BuildArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};

/// Builds a template and prints its image's id.
pub(super) async fn build(edge: &Edge, args: &BuildArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, args.progress, Detail::Everything);
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let (name, tag) = (args.name.as_deref(), args.tag.as_deref());
    let work = template::build(&edge.context, &args.reference, name, tag, &options, &progress);
    let image = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.result(&json!({ "image": image }), &image)?;
    Ok(0)
}
