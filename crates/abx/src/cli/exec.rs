use clap::Args;

use super::values::KeyValue;

/// Run a command in a running sandbox
///
/// Its output and exit status become those of `abx`: 126 where it is not executable, 127 where it is not
/// found, 128+N where signal N ended it, 125 where `abx` failed before it ran.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExecArgs {
    /// Id, a unique prefix of it, or the name
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) stdio: Stdio,

    /// Run as this user of the sandbox
    #[arg(long, value_name = "U")]
    pub(crate) user: Option<String>,

    /// Run in this directory
    #[arg(long, value_name = "D")]
    pub(crate) cwd: Option<String>,

    /// Set an environment variable (repeatable)
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<KeyValue>,

    /// Kill the command after so many seconds; 0 for never
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

/// How the caller's terminal and input are joined to the command.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Stdio {
    /// Pass standard input on to the command
    #[arg(short, long)]
    pub(crate) interactive: bool,

    /// Give the command a terminal
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) tty: bool,
}

const EXAMPLES: &str = "\
Examples:
  abx exec web -- ls -l                                 one command
  abx exec -it web -- bash                              a terminal, with its size and resizes
  tar c src | abx exec -i web -- tar x -C /app          standard input reaches the command
  abx exec --user root --cwd / --env DEBUG=1 web -- env";
