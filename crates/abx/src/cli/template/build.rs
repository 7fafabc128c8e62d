use clap::Args;

use crate::cli::fetch::FetchArgs;
use crate::cli::values::ProgressMode;

/// Build a template's image, so that creating from it is instant
#[derive(Debug, Args)]
#[command(after_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Keep it as a local template of this name
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,

    /// The local template's tag
    #[arg(long, value_name = "T")]
    pub(crate) tag: Option<String>,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,

    /// How to show progress: bars on a terminal, or plain lines
    #[arg(long, value_enum, value_name = "auto|plain", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) progress: ProgressMode,
}

const BUILD_EXAMPLES: &str = "\
Examples:
  abx template build ./my-template
  abx template build . --name shop --tag v1.0
  abx template build . --progress plain 2> build.log";
