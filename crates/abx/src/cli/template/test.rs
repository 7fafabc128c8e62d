use std::path::PathBuf;

use clap::Args;

use crate::cli::fetch::FetchArgs;

/// Build a template and run the tests that come with it
///
/// Every tests/*.yaml of the package runs in a sandbox of its own. The status is 0 where all passed and 1 where one failed;
/// docs/template-tests.md says how tests are written.
#[derive(Debug, Args)]
#[command(after_help = TEST_EXAMPLES)]
pub(crate) struct TestArgs {
    /// A folder or any other form of reference
    #[arg(value_name = "PATH|REF")]
    pub(crate) reference: String,

    /// Only tests whose name or file has this in it
    #[arg(long, value_name = "NAME")]
    pub(crate) filter: Option<String>,

    /// Write the results to a file as JUnit XML too
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Leave the sandboxes running and print their ids
    #[arg(long)]
    pub(crate) keep: bool,

    /// Fail where template.lock is missing or something differs from it
    #[arg(long)]
    pub(crate) frozen: bool,

    #[command(flatten)]
    pub(crate) fetch: FetchArgs,
}

const TEST_EXAMPLES: &str = "\
Examples:
  abx template test .
  abx template test ./my-template --filter pip
  abx template test python-base --junit results.xml
  abx template test owner/repo@v1.2.0 --json";
