use clap::Args;

/// End sandboxes and remove what they left
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KillArgs {
    /// Ids, unique prefixes of them, or names
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) ids: Vec<String>,

    /// All sandboxes
    #[arg(long)]
    pub(crate) all: bool,
}

const EXAMPLES: &str = "\
Examples:
  abx kill web worker
  abx kill --all";
