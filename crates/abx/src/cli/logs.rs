use clap::Args;

/// Show what the template's startup command printed
///
/// Of a sandbox that has ended, the end of its log is kept.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogsArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Go on as it grows, until the sandbox ends or Ctrl-C
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) follow: bool,
}

const EXAMPLES: &str = "\
Examples:
  abx logs web
  abx logs -f web | grep -i error";
