use agent_sandbox::FetchOptions;
use agent_sandbox::template::{self, Resolved};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::ResolveArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::output::Table;
use crate::progress::{Detail, Reporter};

/// Says what a reference stands for, a fact a line.
pub(super) async fn resolve(edge: &Edge, args: &ResolveArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let work = template::resolve(&edge.context, &args.reference, &options, &progress);
    let resolved = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.table(&resolved, &resolved_fields(&resolved))?;
    Ok(0)
}

fn resolved_fields(resolved: &Resolved) -> Table {
    let mut table = Table::of_fields();
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            table.row([name.to_owned(), value.to_owned()]);
        }
    };
    field("kind", Some(resolved.kind));
    field("owner", resolved.owner.as_deref());
    field("repo", resolved.repo.as_deref());
    field("subdir", resolved.subdir.as_deref());
    field("ref", resolved.git_ref.as_deref());
    field("tag", resolved.tag.as_deref());
    field("commit", resolved.commit.as_deref());
    field("digest", resolved.digest.as_deref());
    field("canonical", Some(&resolved.canonical));
    table
}
