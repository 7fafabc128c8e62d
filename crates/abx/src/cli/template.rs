use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    Validate(TemplateValidateArgs),
    Resolve(TemplateResolveArgs),
    Build(TemplateBuildArgs),
    List(TemplateListArgs),
    Export(TemplateExportArgs),
}

/// Check a template's files without building it
///
/// Every fault is shown with its file, line and column.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct TemplateValidateArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  abx template validate .
  abx template validate ./my-template --json";

/// Say what a reference stands for now: its commit or digest
///
/// A template on GitHub is fetched for it, unless it is in the cache.
#[derive(Debug, Args)]
#[command(after_help = RESOLVE_EXAMPLES)]
pub(crate) struct TemplateResolveArgs {
    /// A name, ./folder, owner/repo[//sub][@ref] or acr://host/image
    #[arg(value_name = "REF")]
    pub(crate) reference: String,

    /// A token for GitHub, before that of the environment
    #[arg(long, value_name = "T")]
    pub(crate) token: Option<String>,

    /// Ask and fetch anew
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Never leave this machine; fail where something is not in the cache
    #[arg(long, conflicts_with = "no_cache")]
    pub(crate) offline: bool,
}

const RESOLVE_EXAMPLES: &str = "\
Examples:
  abx template resolve python-base
  abx template resolve owner/repo//sub/folder@v1.0 --json";

/// Build a template's image, so that creating from it is instant
#[derive(Debug, Args)]
#[command(after_help = BUILD_EXAMPLES)]
pub(crate) struct TemplateBuildArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Keep it as a local template of this name
    #[arg(long, value_name = "N")]
    pub(crate) name: Option<String>,

    /// The local template's tag
    #[arg(long, value_name = "T")]
    pub(crate) tag: Option<String>,

    /// Ignore cached downloads and built layers
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// How to show progress: bars on a terminal, or plain lines
    #[arg(long, value_enum, value_name = "auto|plain", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) progress: ProgressMode,
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressMode {
    #[default]
    Auto,
    Plain,
}

const BUILD_EXAMPLES: &str = "\
Examples:
  abx template build ./my-template
  abx template build . --name shop --tag v1.0
  abx template build . --progress plain 2> build.log";

/// List the built-in templates and those built here
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct TemplateListArgs {}

const LIST_EXAMPLES: &str = "\
Examples:
  abx template list
  abx template list --json";

/// Write a built template as an OCI image archive
#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct TemplateExportArgs {
    /// A built-in template or one built here
    #[arg(value_name = "NAME[:TAG]")]
    pub(crate) name: String,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  abx template export shop:v1.0 -o shop.tar && docker load -i shop.tar
  abx template export python-base -o python-base.tar";
