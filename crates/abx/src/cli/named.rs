use clap::Args;

/// List the named commands of a sandbox's template
///
/// They are the functions registered in the `commands.py` of the template and its ancestors, and the executables in
/// their `commands/`. `abx run` calls one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CommandsArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

const EXAMPLES: &str = "\
Examples:
  abx commands web
  abx commands web --json | jq -r '.[].name'";
