use clap::{Args, ValueEnum};

use super::Stdio;
use super::fetch::FetchArgs;
use super::values::{KeyValue, Megabytes, PortPair, parse_cpu};

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

    /// Set an environment variable in the sandbox (repeatable)
    #[arg(long, value_name = "K=V")]
    pub(crate) env: Vec<KeyValue>,

    /// Processor cores, a fraction is fine
    #[arg(long, value_name = "N", value_parser = parse_cpu)]
    pub(crate) cpu: Option<f64>,

    /// Memory limit in MB, or with a unit (4GiB)
    #[arg(long, value_name = "MB")]
    pub(crate) memory: Option<Megabytes>,

    /// Disk limit in MB, or with a unit (20GiB)
    #[arg(long, value_name = "MB")]
    pub(crate) disk: Option<Megabytes>,

    /// End the sandbox after so many seconds; 0 for never
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,

    /// End it (pause it, if persistent) after so many seconds without use; 0 for never
    #[arg(long, value_name = "S")]
    pub(crate) idle_timeout: Option<u64>,

    /// Forward a port of this host's loopback into the sandbox, 0 for any free one (repeatable)
    #[arg(long, value_name = "HOST:GUEST")]
    pub(crate) port: Vec<PortPair>,

    /// `none` cuts the sandbox off; `default` lets it reach out
    #[arg(long, value_enum, value_name = "none|default", hide_possible_values = true)]
    pub(crate) network: Option<NetworkArg>,

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

/// Reach of the sandbox's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetworkArg {
    None,
    Default,
}

const EXAMPLES: &str = "\
Examples:
  abx create base                                       start a sandbox, print its id
  abx create --rm python-base -- python3 -V             run one command, keep nothing
  abx create --rm -it ./my-template -- bash             a terminal in a template of yours
  abx create --port 8080:80 --memory 4096 ./site        with a forwarded port and more memory
  abx create --network none base -- make test           without any network";
