use agent_sandbox::Sandbox;
use futures_util::future::join_all;
use serde_json::json;

use super::Edge;
use crate::Failure;
use crate::cli::KillArgs;

/// Ends sandboxes, side by side. One that fails does not spare the others; the first failure decides the status.
pub(super) async fn kill(edge: &Edge, args: &KillArgs) -> Result<u8, Failure> {
    let ids: Vec<String> = if args.all {
        agent_sandbox::list(&edge.context, false)?.into_iter().map(|info| info.id).collect()
    } else {
        args.ids.clone()
    };
    let results = join_all(ids.iter().map(|id| kill_one(edge, id))).await;
    let (killed, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let killed: Vec<String> = killed.into_iter().flatten().collect();
    let mut failures = failed.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else {
        let text = killed.iter().map(|id| format!("killed {id}")).collect::<Vec<_>>().join("\n");
        edge.printer.done(&json!({ "killed": killed }), &text)?;
        return Ok(0);
    };
    if edge.printer.json() {
        // One object on stderr: the first failure stands for the rest.
        return Err(first);
    }
    for failure in failures {
        failure.report(&edge.printer, false);
    }
    Err(first)
}

async fn kill_one(edge: &Edge, id: &str) -> Result<String, Failure> {
    let sandbox: Sandbox = agent_sandbox::find(&edge.context, id)?;
    sandbox.kill().await?;
    Ok(sandbox.id().to_owned())
}
