use clap::Args;

/// Make a local template of a sandbox's files
///
/// The template behaves as the sandbox's own does and has what the sandbox has written. No process is in it, and nothing
/// that `--env` set. A running sandbox stands still for a moment; a paused or stopped one is not woken.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SnapshotArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// What to call the template; the tag is `latest` where it is left out
    #[arg(value_name = "NAME[:TAG]")]
    pub(crate) name: String,
}

const EXAMPLES: &str = "\
Examples:
  abx snapshot web web-installed
  abx create web-installed
  abx snapshot web shop:1.0.0 && abx template push shop:1.0.0 acr://host/team/shop";
