use std::path::PathBuf;

use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Take the newest versions a template's references allow into its lock
#[derive(Debug, Args)]
#[command(after_help = UPDATE_EXAMPLES)]
pub(crate) struct UpdateArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Say what would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const UPDATE_EXAMPLES: &str = "\
Examples:
  abx template update ./my-template --dry-run
  abx template update 'owner/repo//web@^1.2'";
