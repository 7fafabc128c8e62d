//! The verbs on templates, one file each.

mod build;
mod export;
mod list;
mod resolve;
mod validate;

pub(crate) use build::BuildArgs;
pub(crate) use export::ExportArgs;
pub(crate) use list::ListArgs;
pub(crate) use resolve::ResolveArgs;
pub(crate) use validate::ValidateArgs;

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
    Export(ExportArgs),
}
