use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Say what a reference stands for now: its commit or digest
///
/// A template on GitHub is fetched for it, unless it is in the cache.
///
/// There, a range (`@^1.2`, `@~1.2`, `@>=1, <2`) is the highest of the repository's tags that is in it. Where a
/// sub-directory has tags of its own (`web-v1.2.0`, `web/v1.2.0`), they alone count for it. `@latest` is what is called
/// so, else the highest release, else the default branch. Pre-releases count where the range names one.
#[derive(Debug, Args)]
#[command(after_help = RESOLVE_EXAMPLES)]
pub(crate) struct ResolveArgs {
    /// A name, ./folder, owner/repo[//sub][@ref] or acr://host/image
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const RESOLVE_EXAMPLES: &str = "\
Examples:
  abx template resolve python-base
  abx template resolve owner/repo//sub/folder@v1.0 --json
  abx template resolve owner/repo@^1.2 --offline";
