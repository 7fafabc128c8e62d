use clap::{Args, Subcommand, ValueEnum};

use crate::cli::values::{Age, Megabytes};

/// See, clean and verify what is kept between runs
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

/// The verbs on what is kept.
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    List(CacheListArgs),
    Clean(CacheCleanArgs),
    Verify(CacheVerifyArgs),
}

/// List what is kept, with its size, its age and where it came from
///
/// The size of an image is that of the layers no other image has. An entry that is needed stays when cleaning.
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct CacheListArgs {}

const LIST_EXAMPLES: &str = "\
Examples:
  abx template cache list
  abx template cache list --json | jq '.entries[] | select(.kind == \"image\")'";

/// Remove what is not needed
///
/// Conditions add up. Without any, only what nobody can use any more goes: leavings of killed processes and locks that
/// nobody holds. What a live sandbox or a local template needs always stays; builds and creates that are under way are
/// waited for.
#[derive(Debug, Args)]
#[command(after_help = CLEAN_EXAMPLES)]
pub(crate) struct CacheCleanArgs {
    /// Only what is called so: a name of the list, owner/repo@ref, or the start of a commit or id
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Only entries of this kind
    #[arg(long, value_enum, value_name = "K")]
    pub(crate) kind: Option<KindArg>,

    /// Only what was not used for so long: 30d, 12h, 90m
    #[arg(long, value_name = "AGE")]
    pub(crate) older_than: Option<Age>,

    /// Only what is larger: 1GiB, 500MiB
    #[arg(long, value_name = "SIZE", conflicts_with = "keep_under")]
    pub(crate) larger_than: Option<Megabytes>,

    /// The least recently used, until all that is left is not larger
    #[arg(long, value_name = "SIZE")]
    pub(crate) keep_under: Option<Megabytes>,

    /// Everything that is not needed
    #[arg(long, conflicts_with_all = ["names", "kind", "older_than", "larger_than", "keep_under"])]
    pub(crate) all: bool,

    /// Only say what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    Repository,
    Archive,
    Image,
    Layer,
    Download,
    Log,
    Leftover,
}

const CLEAN_EXAMPLES: &str = "\
Examples:
  abx template cache clean
  abx template cache clean --older-than 30d --dry-run
  abx template cache clean --kind download --larger-than 1GiB
  abx template cache clean --keep-under 20GiB
  abx template cache clean owner/repo";

/// Check that what is kept is what it was
///
/// Files of repositories and archives are read and compared with what was fetched; images must have their layers.
/// Ends with status 1 where something is damaged and not repaired.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct CacheVerifyArgs {
    /// Read every file of every layer too; the first time, to compare with later
    #[arg(long)]
    pub(crate) deep: bool,

    /// Remove what is damaged, so that it is fetched or built again
    #[arg(long)]
    pub(crate) repair: bool,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  abx template cache verify
  abx template cache verify --deep --repair";
