use clap::Args;

use crate::cli::OverrideArgs;
use crate::cli::fetch::FetchArgs;

/// Show what a sandbox would get, and which file, line, option or default says so
///
/// Nothing is built. The template and all it inherits from are read, and fetched where they are not at hand.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const EXAMPLES: &str = "\
Examples:
  abx template explain python-data-science
  abx template explain ./my-template --memory 8GiB --json";
