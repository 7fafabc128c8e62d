use super::Edge;
use super::interrupt::interruptible;
use crate::Failure;
use crate::cli::{ProgressMode, SnapshotArgs};
use crate::output::human;
use crate::progress::{Detail, Reporter};

/// Makes a template of a sandbox's files.
pub(super) async fn snapshot(edge: &Edge, args: &SnapshotArgs) -> Result<u8, Failure> {
    let (name, tag) = args.name.split_once(':').unwrap_or((&args.name, "latest"));
    let sandbox = agent_sandbox::find(&edge.context, &args.id)?;
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let work = agent_sandbox::snapshot(&edge.context, &sandbox, name, tag, &progress);
    let snapshot = interruptible(&progress, work).await?;
    drop(progress);
    let size = human::bytes(snapshot.bytes);
    edge.printer
        .done(&snapshot, &format!("made {}:{} of {} ({size})", snapshot.name, snapshot.tag, args.id))?;
    Ok(0)
}
