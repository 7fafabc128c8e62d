use agent_sandbox::template;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::PullArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};

/// Prints what to give to `create` now.
pub(super) async fn pull(edge: &Edge, args: &PullArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Everything);
    let (name, options) = (args.name.as_deref(), (&args.fetch).into());
    let work = template::pull(&edge.context, &args.reference, name, &options, &progress);
    let pulled = interruptible(&progress, work).await?;
    drop(progress);
    let name = pulled.name.as_deref().unwrap_or(&args.reference);
    edge.printer.note(&format!("pulled {}", pulled.canonical));
    edge.printer.result(&pulled, name)?;
    Ok(0)
}
