use agent_sandbox::FetchOptions;
use agent_sandbox::template;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::OutdatedArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::Table;
use crate::progress::{Detail, Reporter};

/// A row for each entry of the lock.
pub(super) async fn outdated(edge: &Edge, args: &OutdatedArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options: FetchOptions = (&args.fetch).into();
    let work = template::outdated(&edge.context, &args.reference, &options, &progress);
    let entries = interruptible(&progress, work).await?;
    drop(progress);
    let mut table = Table::new(["REFERENCE", "LOCKED", "WANTED", "LATEST"]);
    for entry in &entries {
        let cell = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        table.row([entry.reference.clone(), entry.locked.clone(), cell(&entry.wanted), cell(&entry.latest)]);
    }
    edge.printer.table(&entries, &table)?;
    Ok(0)
}
