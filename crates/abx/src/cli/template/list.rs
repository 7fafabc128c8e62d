use clap::Args;

/// List the built-in templates and those built here
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListArgs {}

const LIST_EXAMPLES: &str = "\
Examples:
  abx template list
  abx template list --json";
