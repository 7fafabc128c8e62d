//! The verbs on templates, one file each.

mod build;
mod cache;
mod explain;
mod export;
mod info;
mod init;
mod install;
mod list;
mod lock;
mod matching;
mod migrate;
mod outdated;
mod pull;
mod push;
mod resolve;
mod schema;
mod search;
mod test;
mod update;
mod validate;
mod vendor;

pub(crate) use build::BuildArgs;
pub(crate) use cache::{CacheArgs, CacheCleanArgs, CacheCommand, CacheListArgs, CacheVerifyArgs, KindArg};
pub(crate) use explain::ExplainArgs;
pub(crate) use export::ExportArgs;
pub(crate) use info::InfoArgs;
pub(crate) use init::InitArgs;
pub(crate) use install::InstallArgs;
pub(crate) use list::ListArgs;
pub(crate) use lock::LockArgs;
pub(crate) use matching::MatchArgs;
pub(crate) use migrate::MigrateArgs;
pub(crate) use outdated::OutdatedArgs;
pub(crate) use pull::PullArgs;
pub(crate) use push::PushArgs;
pub(crate) use resolve::ResolveArgs;
pub(crate) use schema::SchemaArgs;
pub(crate) use search::{IndexArgs, SearchArgs};
pub(crate) use test::TestArgs;
pub(crate) use update::UpdateArgs;
pub(crate) use validate::{ReportFormat, ValidateArgs};
pub(crate) use vendor::VendorArgs;

use clap::{Args, Subcommand};

/// Check, resolve, build, list and export templates
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct TemplateArgs {
    #[command(subcommand)]
    pub(crate) command: TemplateCommand,
}

/// The verbs on templates.
#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    Init(InitArgs),
    Validate(ValidateArgs),
    Resolve(ResolveArgs),
    Info(InfoArgs),
    Explain(ExplainArgs),
    Build(BuildArgs),
    Test(TestArgs),
    Push(PushArgs),
    Pull(PullArgs),
    List(ListArgs),
    Search(SearchArgs),
    Match(MatchArgs),
    Install(InstallArgs),
    Migrate(MigrateArgs),
    Schema(SchemaArgs),
    Lock(LockArgs),
    Outdated(OutdatedArgs),
    Update(UpdateArgs),
    Export(ExportArgs),
    Vendor(VendorArgs),
    Cache(CacheArgs),
}
