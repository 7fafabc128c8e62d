use serde_json::json;

use super::Edge;
use crate::Failure;
use crate::cli::ResumeArgs;

/// Lets a paused sandbox go on, and starts a stopped one.
pub(super) async fn resume(edge: &Edge, args: &ResumeArgs) -> Result<u8, Failure> {
    let sandbox = agent_sandbox::find(&edge.context, &args.id)?;
    let sandbox = sandbox.resume().await?;
    edge.printer
        .done(&json!({ "id": sandbox.id(), "status": "running" }), &format!("resumed {}", sandbox.id()))?;
    Ok(0)
}
