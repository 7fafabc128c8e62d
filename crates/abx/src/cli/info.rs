use clap::Args;

/// Show one sandbox: template, limits, ports, health, end
///
/// Of one that has ended: when, why, and the limit that was hit.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

const EXAMPLES: &str = "\
Examples:
  abx info web
  abx info web --json | jq .ports";
