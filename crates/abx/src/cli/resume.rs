use clap::Args;

/// Let a paused sandbox run on, or start a stopped one
///
/// A persistent sandbox whose host was restarted is stopped: its files, name, ports and settings are kept, its
/// processes are gone. Either way its timeout counts from now. So it does when the next exec, connect, upload or
/// download finds it paused or stopped and resumes it.
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
