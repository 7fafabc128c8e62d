use clap::Args;

/// Let a paused sandbox run on
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ResumeArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

const EXAMPLES: &str = "\
Examples:
  abx resume web";
