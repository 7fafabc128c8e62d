//! The verbs on templates, one file each.

mod build;
mod export;
mod list;
mod migrate;
mod resolve;
mod schema;
mod validate;
mod vendor;

pub(crate) use build::BuildArgs;
pub(crate) use export::ExportArgs;
pub(crate) use list::ListArgs;
pub(crate) use migrate::MigrateArgs;
pub(crate) use resolve::ResolveArgs;
pub(crate) use schema::SchemaArgs;
pub(crate) use validate::ValidateArgs;
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
    Validate(ValidateArgs),
    Resolve(ResolveArgs),
    Build(BuildArgs),
    List(ListArgs),
    Migrate(MigrateArgs),
    Schema(SchemaArgs),
    Export(ExportArgs),
    Vendor(VendorArgs),
}
