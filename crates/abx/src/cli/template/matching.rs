use clap::Args;

use super::IndexArgs;

/// Rank templates for a task told in a sentence
///
/// Counts the words of the sentence that are among a template's triggers, tags, name and description, and shows
/// which.
#[derive(Debug, Args)]
#[command(after_help = MATCH_EXAMPLES)]
pub(crate) struct MatchArgs {
    /// The task
    #[arg(value_name = "SENTENCE", required = true)]
    pub(crate) sentence: Vec<String>,

    #[command(flatten)]
    pub(crate) index: IndexArgs,

    /// Never leave this machine; use the copy of the index that was fetched before
    #[arg(long, conflicts_with = "refresh")]
    pub(crate) offline: bool,
}

const MATCH_EXAMPLES: &str = "\
Examples:
  abx template match \"analyze a CSV file and plot it\"
  abx template match scrape a web page --json";
