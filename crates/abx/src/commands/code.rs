//! Running code in a sandbox: one cell, or something about its contexts.

mod cell;
mod contexts;
mod files;
mod show;

use agent_sandbox::code::Code;

use super::Edge;
use crate::Failure;
use crate::cli::CodeArgs;

/// Runs a cell, or lists, makes, restarts or removes contexts.
pub(super) async fn code(edge: &Edge, args: CodeArgs) -> Result<u8, Failure> {
    let sandbox = super::awake(edge, &args.id).await?;
    let code = sandbox.code()?;
    if args.contexts {
        return contexts::list(edge, &code).await;
    }
    if args.new {
        return contexts::make(edge, &code, args).await;
    }
    if let Some(id) = &args.restart {
        return contexts::restart(edge, &code, id).await;
    }
    if let Some(id) = &args.remove {
        return contexts::remove(edge, &code, id).await;
    }
    cell::run(edge, &sandbox, &code, args).await
}

/// The whole id of a context of which a unique prefix is given. What fits none or several is left to the service.
async fn context_id(code: &Code, prefix: &str) -> Result<String, Failure> {
    let contexts = code.contexts().await?;
    let mut fitting = contexts.into_iter().filter(|context| context.id.starts_with(prefix));
    match (fitting.next(), fitting.next()) {
        (Some(context), None) => Ok(context.id),
        _ => Ok(prefix.to_owned()),
    }
}
