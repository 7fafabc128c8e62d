use clap::Args;
use clap_complete::Shell;

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  abx completions bash > /etc/bash_completion.d/abx
  abx completions zsh > ~/.zfunc/_abx
  abx completions fish > ~/.config/fish/completions/abx.fish";
