use clap::Args;

use super::values::PortPair;

/// Show what listens in a sandbox and where this host reaches it
///
/// Every TCP port that a process inside listens on is shown, whether the template or the caller named it or it was
/// opened later; and ports that are forwarded though nothing listens yet.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PortsArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Forward one more port into the sandbox, 0 for any free one of this host (repeatable)
    #[arg(long, value_name = "HOST:GUEST")]
    pub(crate) forward: Vec<PortPair>,
}

const EXAMPLES: &str = "\
Examples:
  abx ports web
  abx ports web --forward 8080:80
  curl \"$(abx ports web --forward 0:3000 --json | jq -r '.[] | select(.port == 3000).host')\"";
