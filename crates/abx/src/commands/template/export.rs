use agent_sandbox::template;
use serde_json::json;

use crate::Failure;
use crate::cli::template::ExportArgs;
use crate::commands::Edge;

/// Writes an image archive.
pub(super) fn export(edge: &Edge, args: &ExportArgs) -> Result<u8, Failure> {
    let (name, tag) = args.name.split_once(':').unwrap_or((&args.name, "latest"));
    let digest = template::export(&edge.context, name, tag, &args.output)?;
    let file = args.output.display().to_string();
    let value = json!({ "name": name, "tag": tag, "file": file, "digest": digest });
    edge.printer.done(&value, &format!("wrote {file} ({digest})"))?;
    Ok(0)
}
