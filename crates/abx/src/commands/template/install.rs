use agent_sandbox::template;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::InstallArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};

/// Prints the name that the template has here now.
pub(super) async fn install(edge: &Edge, args: &InstallArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Everything);
    let (index, options) = (args.index.options(args.fetch.offline), (&args.fetch).into());
    let name = args.name.as_deref();
    let work = template::install(&edge.context, &args.reference, name, &index, &options, &progress);
    let installed = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.note(&format!(
        "installed {} ({}) from {}",
        installed.name,
        installed.tags.join(", "),
        installed.from
    ));
    edge.printer.result(&installed, &installed.name)?;
    Ok(0)
}
