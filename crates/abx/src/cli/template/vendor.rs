use std::path::PathBuf;

use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Write a template with all it needs to one file, for a machine without a network
///
/// The file holds every template it inherits from, its lock and its image. It is a reference like any other: create
/// from it, build it under a name, inherit from it. Container tools load its image.
#[derive(Debug, Args)]
#[command(after_help = VENDOR_EXAMPLES)]
pub(crate) struct VendorArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// The file to write [default: <name>-<version>.abx.tar]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const VENDOR_EXAMPLES: &str = "\
Examples:
  abx template vendor ./web
  abx template vendor owner/repo//web@v1.2 -o web.abx.tar
  abx create --offline ./web.abx.tar";
