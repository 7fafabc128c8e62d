use serde_json::json;

use super::Edge;
use super::interrupt::interruptible;
use crate::Failure;
use crate::cli::{DownloadArgs, ProgressMode};
use crate::output::human;
use crate::progress::{Detail, Reporter};
use crate::report::plain;
use crate::transfer::{self, Transferred};

/// Copies a file or folder out of a sandbox.
pub(super) async fn download(edge: &Edge, args: &DownloadArgs) -> Result<u8, Failure> {
    let sandbox = super::awake(edge, &args.id).await?;
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let client = sandbox.client();
    let work = transfer::download(&client, &args.source, &args.destination, &progress);
    let transferred = interruptible(&progress, work).await?;
    drop(progress);
    tell(edge, "downloaded", &transferred)
}

/// Says what a transfer came to.
pub(super) fn tell(edge: &Edge, what: &str, transferred: &Transferred) -> Result<u8, Failure> {
    let Transferred { path, bytes, skipped } = transferred;
    for name in skipped {
        edge.printer.warning(&format!("left out {}", plain(name)));
    }
    let value = json!({ "path": path, "bytes": bytes, "skipped": skipped });
    edge.printer.done(&value, &format!("{what} {} ({})", plain(path), human::bytes(*bytes)))?;
    Ok(0)
}
