use std::path::PathBuf;

use clap::Args;

/// Rewrite a package's flat file in the full form
///
/// Custom commands of the older dialect become functions of a `commands.py`. The older file is kept beside the
/// new one under `.orig`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MigrateArgs {
    /// The package's folder, or its file
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  abx template migrate .
  abx template migrate ./my-template && abx template validate ./my-template";
