use agent_sandbox::commands::{Argument, NamedCommand};

use super::Edge;
use crate::Failure;
use crate::cli::CommandsArgs;
use crate::output::Table;

/// A row for each named command.
pub(super) async fn commands(edge: &Edge, args: &CommandsArgs) -> Result<u8, Failure> {
    let sandbox = super::awake(edge, &args.id).await?;
    let commands = sandbox.commands().await?;
    if commands.is_empty() && !edge.printer.json() {
        edge.printer.note("no named commands; a template registers them in its commands.py");
        return Ok(0);
    }
    edge.printer.table(&commands, &table(&commands).fitted(&[2, 1]))?;
    Ok(0)
}

fn table(commands: &[NamedCommand]) -> Table {
    let mut table = Table::new(["NAME", "ARGUMENTS", "DESCRIPTION"]);
    for command in commands {
        let arguments: Vec<String> = command.arguments.iter().map(Argument::to_string).collect();
        let description = command.description.lines().next().unwrap_or_default();
        table.row([command.name.clone(), arguments.join(", "), description.to_owned()]);
    }
    table
}
