use std::path::PathBuf;

use clap::Args;

/// Copy a file or folder into a sandbox
///
/// As with `cp -r`: a DST that is a folder or ends with `/` takes SRC in under its own name, any other is the new
/// name. `SRC/.` means what is in the folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UploadArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The file or folder on this machine
    #[arg(value_name = "SRC")]
    pub(crate) source: PathBuf,

    /// The path in the sandbox; relative ones start at the user's home
    #[arg(value_name = "DST")]
    pub(crate) destination: String,
}

const EXAMPLES: &str = "\
Examples:
  abx upload web data.csv /app/data.csv
  abx upload web ./src /app/src";
