use std::path::PathBuf;

use clap::Args;

/// Write a built template as an OCI image archive
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct ExportArgs {
    /// A built-in template or one built here
    #[arg(value_name = "NAME[:TAG]")]
    pub(crate) name: String,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  abx template export shop:v1.0 -o shop.tar && docker load -i shop.tar
  abx template export python-base -o python-base.tar";
