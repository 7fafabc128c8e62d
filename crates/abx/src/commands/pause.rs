use serde_json::json;

use super::Edge;
use crate::Failure;
use crate::cli::PauseArgs;

/// Freezes a sandbox.
pub(super) async fn pause(edge: &Edge, args: &PauseArgs) -> Result<u8, Failure> {
    let sandbox = agent_sandbox::find(&edge.context, &args.id)?;
    sandbox.pause().await?;
    edge.printer
        .done(&json!({ "id": sandbox.id(), "status": "paused" }), &format!("paused {}", sandbox.id()))?;
    Ok(0)
}
