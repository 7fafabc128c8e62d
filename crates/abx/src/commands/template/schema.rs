use agent_sandbox::template;

use crate::Failure;
use crate::commands::Edge;

/// The same with and without `--json`.
pub(super) fn schema(edge: &Edge) -> Result<u8, Failure> {
    let schema = template::schema();
    edge.printer.result(&schema, &format!("{schema:#}"))?;
    Ok(0)
}
