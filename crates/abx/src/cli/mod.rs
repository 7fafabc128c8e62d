//! What a user may type: one file per command, each a clap struct without behaviour.

mod code;
mod completions;
mod config;
mod connect;
mod create;
mod doctor;
mod download;
mod exec;
pub(crate) mod fetch;
mod global;
mod info;
mod kill;
mod list;
mod logs;
mod named;
mod overrides;
mod pause;
mod pool;
mod ports;
mod resume;
mod run;
mod snapshot;
pub(crate) mod template;
mod upload;
pub(crate) mod values;

pub(crate) use code::CodeArgs;
pub(crate) use completions::CompletionsArgs;
pub(crate) use config::{
    ConfigArgs, ConfigCommand, ConfigGetArgs, ConfigListArgs, ConfigSetArgs, ConfigUnsetArgs,
};
pub(crate) use connect::ConnectArgs;
pub(crate) use create::CreateArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use download::DownloadArgs;
pub(crate) use exec::{ExecArgs, Stdio};
pub(crate) use global::{Early, GlobalArgs};
pub(crate) use info::InfoArgs;
pub(crate) use kill::KillArgs;
pub(crate) use list::ListArgs;
pub(crate) use logs::LogsArgs;
pub(crate) use named::CommandsArgs;
pub(crate) use overrides::{NetworkArg, OverrideArgs};
pub(crate) use pause::PauseArgs;
pub(crate) use pool::PoolArgs;
pub(crate) use ports::PortsArgs;
pub(crate) use resume::ResumeArgs;
pub(crate) use run::RunArgs;
pub(crate) use snapshot::SnapshotArgs;
pub(crate) use template::{TemplateArgs, TemplateCommand};
pub(crate) use upload::UploadArgs;
pub(crate) use values::ProgressMode;

use clap::{Parser, Subcommand};

/// Sandboxes for agents, from templates, without a daemon
#[derive(Debug, Parser)]
#[command(name = "abx", version, propagate_version = false, after_help = EXAMPLES)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  abx create python-base -- python3 -c 'print(6 * 7)'   run one command in a new sandbox
  id=$(abx create python-base)                          start a sandbox and keep its id
  abx exec -it $id -- bash                              open a terminal in it
  abx kill $id                                          end it

`abx COMMAND --help` shows a command's options and examples.";

/// The commands of this build.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Create(Box<CreateArgs>),
    Exec(ExecArgs),
    Code(CodeArgs),
    Run(RunArgs),
    Commands(CommandsArgs),
    Connect(ConnectArgs),
    List(ListArgs),
    Info(InfoArgs),
    Logs(LogsArgs),
    Ports(PortsArgs),
    Upload(UploadArgs),
    Download(DownloadArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Kill(KillArgs),
    Snapshot(SnapshotArgs),
    Pool(PoolArgs),
    Template(TemplateArgs),
    Config(ConfigArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
}

impl Command {
    /// Whether the exit status belongs to a command that runs inside a sandbox, so that failures of `abx`
    /// itself must stay apart from it (125).
    pub(crate) fn carries_status(&self) -> bool {
        match self {
            Self::Create(args) => args.attaches(),
            Self::Exec(_) | Self::Connect(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
