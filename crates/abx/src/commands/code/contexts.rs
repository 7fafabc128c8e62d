//! What can be done to contexts.

use agent_sandbox::code::{Code, ContextInfo, ContextState, NewContext};
use serde_json::json;

use super::context_id;
use crate::Failure;
use crate::cli::CodeArgs;
use crate::commands::Edge;
use crate::output::Table;

pub(super) async fn list(edge: &Edge, code: &Code) -> Result<u8, Failure> {
    let contexts = code.contexts().await?;
    let mut table = Table::new(["CONTEXT", "LANGUAGE", "KERNEL", "STATE", "CWD"]);
    for context in &contexts {
        let ContextInfo { id, language, kernel, cwd, .. } = context.clone();
        table.row([id, language, kernel, state(context).to_owned(), cwd]);
    }
    edge.printer.table(&contexts, &table)?;
    Ok(0)
}

fn state(context: &ContextInfo) -> &'static str {
    match context.state {
        ContextState::Fresh => "not started",
        ContextState::Idle => "idle",
        ContextState::Busy => "busy",
        ContextState::Ended => "ended",
    }
}

pub(super) async fn make(edge: &Edge, code: &Code, args: CodeArgs) -> Result<u8, Failure> {
    let context = code.create_context(&NewContext { cwd: args.cwd, language: args.language }).await?;
    edge.printer.result(&context, &context.id)?;
    Ok(0)
}

pub(super) async fn restart(edge: &Edge, code: &Code, id: &str) -> Result<u8, Failure> {
    let id = context_id(code, id).await?;
    code.restart(&id).await?;
    edge.printer.done(&json!({ "restarted": id }), &format!("restarted {id}"))?;
    Ok(0)
}

pub(super) async fn remove(edge: &Edge, code: &Code, id: &str) -> Result<u8, Failure> {
    let id = context_id(code, id).await?;
    code.remove(&id).await?;
    edge.printer.done(&json!({ "removed": id }), &format!("removed {id}"))?;
    Ok(0)
}
