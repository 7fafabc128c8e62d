use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Fetch a template and the image it starts from, for use without a network
///
/// An image of a registry gets a local name: the last part of its path, and its tag.
#[derive(Debug, Args)]
#[command(after_help = PULL_EXAMPLES)]
pub(crate) struct PullArgs {
    /// acr://host/image[:tag], owner/repo[//sub][@ref], or a name
    #[arg(value_name = "REF|NAME")]
    pub(crate) reference: String,

    /// Call an image so here
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const PULL_EXAMPLES: &str = "\
Examples:
  abx template pull acr://registry.example/team/shop:v1.0
  abx template pull 'acr://registry.example/team/shop:^1.2' --name shop
  abx template pull owner/repo//templates/agent@v1.0";
