use clap::Args;

/// List sandboxes
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ListArgs {
    /// The ended ones too, with the reason of their end
    #[arg(long)]
    pub(crate) all: bool,
}

const EXAMPLES: &str = "\
Examples:
  abx list
  abx list --all --json | jq -r '.[].id'";
