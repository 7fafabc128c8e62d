use std::path::PathBuf;

use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Write what a template and everything it inherits from come to
///
/// `template.lock` lies beside the template, or in the working directory where the template is not a folder. It holds
/// commits, digests and the base image in place; `create` and `build` go by it. What is locked already stays as it is
/// while it fits: `abx template update` takes newer versions.
#[derive(Debug, Args)]
#[command(after_help = LOCK_EXAMPLES)]
pub(crate) struct LockArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Write nothing; fail where the lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const LOCK_EXAMPLES: &str = "\
Examples:
  abx template lock ./my-template
  abx template lock 'owner/repo//web@^1.2'
  abx template lock . --frozen                          does the lock still hold?";
