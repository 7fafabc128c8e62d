use std::path::PathBuf;

use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Begin a template: a folder that validates, builds and passes its own tests
///
/// Nothing is written over: the folder must not be there yet, or be empty.
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
pub(crate) struct InitArgs {
    /// The template's name, which is its folder's
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,

    /// The template it inherits from; python-base unless a Dockerfile is given
    #[arg(long, value_name = "REF", conflicts_with = "dockerfile")]
    pub(crate) from: Option<String>,

    /// A Dockerfile that defines its image; it is copied
    #[arg(long, value_name = "F")]
    pub(crate) dockerfile: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const INIT_EXAMPLES: &str = "\
Examples:
  abx template init my-template
  abx template init shop --from python-data-science
  abx template init shop --dockerfile ./Dockerfile";
