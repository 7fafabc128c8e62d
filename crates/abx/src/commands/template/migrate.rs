use agent_sandbox::template;
use serde_json::json;

use crate::Failure;
use crate::cli::template::MigrateArgs;
use crate::commands::Edge;

/// Says what was written.
pub(super) fn migrate(edge: &Edge, args: &MigrateArgs) -> Result<u8, Failure> {
    let Some(migration) = template::migrate(&edge.context, &args.path)? else {
        let value = json!({ "file": null });
        edge.printer.done(&value, &format!("{} has the full form already", args.path.display()))?;
        return Ok(0);
    };
    if migration.loses_comments {
        edge.printer.note(&format!("comments are in {} only", migration.kept.display()));
    }
    let mut lines = vec![format!("wrote {}", migration.file.display())];
    if let Some(file) = &migration.commands_file {
        lines.push(format!("wrote {}: {}", file.display(), migration.commands.join(", ")));
    }
    lines.push(format!("kept the older file as {}", migration.kept.display()));
    edge.printer.done(&migration, &lines.join("\n"))?;
    Ok(0)
}
