use agent_sandbox::template;

use crate::Failure;
use crate::cli::ProgressMode;
use crate::cli::template::PushArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};

/// Prints the reference that stands for what was pushed.
pub(super) async fn push(edge: &Edge, args: &PushArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Everything);
    let open = template::OpenUploads::default();
    let work = template::push(&edge.context, &args.name, args.destination.as_deref(), &open, &progress);
    let pushed = interruptible(&progress, work).await;
    if pushed.is_err() {
        open.give_up().await;
    }
    let pushed = pushed?;
    drop(progress);
    edge.printer.note(&format!("pushed {} to {}", args.name, pushed.image));
    edge.printer.result(&pushed, &pushed.canonical)?;
    Ok(0)
}
