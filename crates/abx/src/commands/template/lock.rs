use agent_sandbox::FetchOptions;
use agent_sandbox::template::{self, LockRequest, Locked};

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::LockArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};

/// Writes the lock, or says that it holds.
pub(super) async fn lock(edge: &Edge, args: &LockArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let request = LockRequest {
        reference: args.reference.clone(),
        output: args.output.clone(),
        ..LockRequest::default()
    };
    let work = template::lock(&edge.context, &request, &options, &progress);
    let locked = interruptible(&progress, work).await?;
    drop(progress);
    edge.printer.done(&locked, &said(&locked))?;
    Ok(0)
}

/// What was done, in a line.
pub(super) fn said(locked: &Locked) -> String {
    let Locked { file, written, templates, .. } = locked;
    let templates = match templates {
        1 => "one template".to_owned(),
        number => format!("{number} templates"),
    };
    match written {
        true => format!("wrote {file}: {templates}"),
        false => format!("{file} holds: {templates}"),
    }
}
