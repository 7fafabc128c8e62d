mod clean;
mod list;
mod verify;

use crate::Failure;
use crate::cli::template::CacheCommand;
use crate::commands::Edge;

/// The verbs on what is kept.
pub(super) async fn cache(edge: &Edge, command: CacheCommand) -> Result<u8, Failure> {
    match command {
        CacheCommand::List(args) => list::list(edge, &args),
        CacheCommand::Clean(args) => clean::clean(edge, &args).await,
        CacheCommand::Verify(args) => verify::verify(edge, &args).await,
    }
}
