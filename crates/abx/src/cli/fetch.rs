use clap::Args;

/// How far a command goes for what it needs.
#[derive(Clone, Debug, Args)]
pub(crate) struct FetchArgs {
    /// A token for GitHub, before that of the environment
    #[arg(long, value_name = "T")]
    pub(crate) token: Option<String>,

    /// Ask, fetch and build anew
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Never leave this machine; fail where something is not in the cache
    #[arg(long, conflicts_with = "no_cache")]
    pub(crate) offline: bool,
}
