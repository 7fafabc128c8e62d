use clap::Args;

use super::Stdio;
use super::fetch::FetchArgs;
use super::overrides::OverrideArgs;

/// Create a sandbox from a template and, with a command, run it there
///
/// Without a command the sandbox's id is printed and it runs on until its timeout or `abx kill`. With one,
/// the command's output and exit status become those of `abx`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CreateArgs {
    /// The template: a name, ./folder, owner/repo[@ref] or acr://host/image
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// The tag, branch, commit or version, where the reference does not say it
    #[arg(long, value_name = "REF")]
    pub(crate) tag: Option<String>,

    /// A name for the sandbox, usable wherever its id is
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) overrides: OverrideArgs,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,

    /// Remove the sandbox when the command ends
    #[arg(long)]
    pub(crate) rm: bool,

    #[command(flatten)]
    pub(crate) stdio: Stdio,

    /// The command to run; without one, -i or -t start the template's shell
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

impl CreateArgs {
    /// Whether something runs in the foreground, the command or a shell.
    pub(crate) fn attaches(&self) -> bool {
        !self.command.is_empty() || self.stdio.interactive || self.stdio.tty
    }
}

const EXAMPLES: &str = "\
Examples:
  abx create base                                       start a sandbox, print its id
  abx create --rm python-base -- python3 -V             run one command, keep nothing
  abx create --rm -it ./my-template -- bash             a terminal in a template of yours
  abx create --port 8080:80 --memory 4096 ./site        with a forwarded port and more memory
  abx create --network none base -- make test           without any network
  abx create --allow-out example.com --allow-out '*.example.org:443' base   nothing else of the outside";
