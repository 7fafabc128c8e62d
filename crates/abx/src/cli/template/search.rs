use agent_sandbox::template::IndexOptions;
use clap::Args;

/// Find templates by words
///
/// Searches the catalog, the built-in templates and those of this machine: their names, descriptions, tags,
/// categories and authors. All words must be met.
#[derive(Debug, Args)]
#[command(after_help = SEARCH_EXAMPLES)]
pub(crate) struct SearchArgs {
    /// What to look for; nothing lists all
    #[arg(value_name = "WORDS")]
    pub(crate) words: Vec<String>,

    /// Of this category only, such as web or data-science
    #[arg(long, value_name = "C")]
    pub(crate) category: Option<String>,

    /// With this tag only
    #[arg(long, value_name = "T")]
    pub(crate) tag: Option<String>,

    /// Of this status only
    #[arg(long, value_name = "S", value_parser = ["official", "community", "experimental"])]
    pub(crate) status: Option<String>,

    #[command(flatten)]
    pub(crate) index: IndexArgs,

    /// Never leave this machine; use the copy of the index that was fetched before
    #[arg(long, conflicts_with = "refresh")]
    pub(crate) offline: bool,
}

/// Which index of templates, and how fresh.
#[derive(Clone, Debug, Args)]
pub(crate) struct IndexArgs {
    /// The index of templates: a URL or a file
    #[arg(long, value_name = "U")]
    pub(crate) index_url: Option<String>,

    /// Ask for the index although a copy is younger than an hour
    #[arg(long)]
    pub(crate) refresh: bool,
}

impl IndexArgs {
    /// With the command's own word on leaving this machine.
    pub(crate) fn options(&self, offline: bool) -> IndexOptions {
        IndexOptions { url: self.index_url.clone(), refresh: self.refresh, offline }
    }
}

const SEARCH_EXAMPLES: &str = "\
Examples:
  abx template search browser
  abx template search data --category data-science --status official
  abx template search --tag python --json";
