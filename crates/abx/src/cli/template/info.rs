use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Show what a template is, and which versions of it there are
///
/// Nothing is built. A template on GitHub is fetched for it, unless it is in the cache.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// A name, ./folder, owner/repo[//sub][@ref] or acr://host/image
    #[arg(value_name = "REF|NAME")]
    pub(crate) reference: String,

    /// Also what it tells agents, whole: the instructions and its AGENTS.md
    #[arg(long)]
    pub(crate) full: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const EXAMPLES: &str = "\
Examples:
  abx template info python-base
  abx template info ./my-template --full
  abx template info owner/repo//sub/folder --json";
