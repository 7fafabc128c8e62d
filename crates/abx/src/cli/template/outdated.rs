use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Show for which entries of a lock there is something newer
///
/// WANTED is what the reference stands for now, LATEST the newest release whether or not the reference allows it.
#[derive(Debug, Args)]
#[command(after_help = OUTDATED_EXAMPLES)]
pub(crate) struct OutdatedArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const OUTDATED_EXAMPLES: &str = "\
Examples:
  abx template outdated ./my-template
  abx template outdated . --json";
