use clap::Args;

/// Say what this host lacks, for which feature, and the command that mends it
///
/// The exit status is 1 where something is lacking.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Also remove what processes that died have left: mounts, cgroups, interfaces, half-made entries.
    /// Touches nothing but what our own state records, and is safe beside running sandboxes
    #[arg(long)]
    pub(crate) clean: bool,
}

const EXAMPLES: &str = "\
Examples:
  abx doctor
  abx doctor --clean";
