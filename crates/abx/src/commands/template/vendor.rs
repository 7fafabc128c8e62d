use agent_sandbox::template;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::VendorArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::human;
use crate::progress::{Detail, Reporter};

/// Builds a template and writes it to one file.
pub(super) async fn vendor(edge: &Edge, args: &VendorArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = (&args.fetch).into();
    let work = template::vendor(&edge.context, &args.reference, args.output.as_deref(), &options, &progress);
    let written = interruptible(&progress, work).await?;
    drop(progress);
    let (file, size) = (written.file.display(), human::bytes(written.size));
    let text = format!("wrote {file} ({} {}, {size})", written.name, written.version);
    edge.printer.done(&written, &text)?;
    Ok(0)
}
