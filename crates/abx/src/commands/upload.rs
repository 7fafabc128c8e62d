use super::Edge;
use super::interrupt::interruptible;
use crate::Failure;
use crate::cli::{ProgressMode, UploadArgs};
use crate::progress::{Detail, Reporter};
use crate::transfer;

/// Copies a file or folder into a sandbox.
pub(super) async fn upload(edge: &Edge, args: &UploadArgs) -> Result<u8, Failure> {
    let sandbox = super::awake(edge, &args.id).await?;
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let client = sandbox.client();
    let work = transfer::upload(&client, &args.source, &args.destination, &progress);
    let transferred = interruptible(&progress, work).await?;
    drop(progress);
    super::download::tell(edge, "uploaded", &transferred)
}
