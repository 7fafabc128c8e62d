use clap::Args;

/// Open a shell in a running sandbox
///
/// The template's shell as the template's user, in its workdir. Where stdin or stdout is no terminal the
/// shell reads commands from stdin instead.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConnectArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID", conflicts_with = "json")]
    pub(crate) id: String,
}

const EXAMPLES: &str = "\
Examples:
  abx connect web
  echo 'ls -l' | abx connect web";
