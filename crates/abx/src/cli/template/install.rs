use clap::Args;

use super::IndexArgs;
use crate::cli::fetch::FetchArgs;

/// Fetch and build a template, so that creating from it is instant and needs no network
///
/// A name is looked up as `create` does: built-in, alias, local, then the catalog.
#[derive(Debug, Args)]
#[command(after_help = INSTALL_EXAMPLES)]
pub(crate) struct InstallArgs {
    /// A name of the catalog, owner/repo[//sub][@ref] or any other form of reference
    #[arg(value_name = "NAME|REF")]
    pub(crate) reference: String,

    /// Call it so here
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) index: IndexArgs,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const INSTALL_EXAMPLES: &str = "\
Examples:
  abx template install browser-automation
  abx template install owner/repo//templates/agent@v1.0 --name agent
  abx create agent --offline";
