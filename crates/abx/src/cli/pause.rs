use clap::Args;

/// Freeze a running sandbox; it keeps its memory and uses no processor
///
/// Its timeout does not count meanwhile. `abx resume` lets it run on, and so does the next exec, connect, upload or
/// download.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PauseArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

const EXAMPLES: &str = "\
Examples:
  abx pause web
  abx resume web";
