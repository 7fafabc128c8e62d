use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Check a template's files without building it
///
/// Every fault is shown with its file, line and column.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  abx template validate .
  abx template validate ./my-template --json";
