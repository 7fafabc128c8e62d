use agent_sandbox::FetchOptions;
use agent_sandbox::template::{self, LockRequest};

use super::lock::said;
use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::UpdateArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::Table;
use crate::progress::{Detail, Reporter};

/// Locks anew; a row for each entry that came to something else.
pub(super) async fn update(edge: &Edge, args: &UpdateArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options: FetchOptions = (&args.fetch).into();
    let request = LockRequest {
        reference: args.reference.clone(),
        output: args.output.clone(),
        update: true,
        dry_run: args.dry_run,
    };
    let work = template::lock(&edge.context, &request, &options, &progress);
    let locked = interruptible(&progress, work).await?;
    drop(progress);
    if edge.printer.json() || !locked.changes.is_empty() {
        let mut table = Table::new(["NAME", "LOCKED", "NEW"]);
        for change in &locked.changes {
            let cell = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            table.row([change.name.clone(), cell(&change.locked), cell(&change.new)]);
        }
        edge.printer.table(&locked, &table)?;
    }
    match args.dry_run && !locked.changes.is_empty() {
        true => edge.printer.note(&format!("{} is left as it is", locked.file)),
        false => edge.printer.note(&said(&locked)),
    }
    Ok(0)
}
