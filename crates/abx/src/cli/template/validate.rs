use clap::{Args, ValueEnum};

use crate::cli::fetch::FetchArgs;

/// Check a template's files without building it
///
/// Every fault of every file is shown with its line and column; -v shows what could be better too.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// The form of what is found: text, or SARIF for code review
    #[arg(long, value_enum, value_name = "text|sarif", default_value = "text")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) format: ReportFormat,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    Text,
    Sarif,
}

const VALIDATE_EXAMPLES: &str = "\
Examples:
  abx template validate .
  abx template validate ./my-template --json
  abx template validate . --format sarif > template.sarif";
