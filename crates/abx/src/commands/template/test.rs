//! `abx template test`.

mod junit;
mod lines;

use agent_sandbox::FetchOptions;
use agent_sandbox::core::fs::write_atomic;
use agent_sandbox::template::{self, TestReport, TestRequest, TestSandboxes};

use crate::cli::ProgressMode;
use crate::cli::template::TestArgs;
use crate::commands::Edge;
use crate::commands::interrupt::interruptible;
use crate::progress::{Detail, Reporter};
use crate::{EdgeError, Failure};
use lines::Lines;

/// Status where a test failed.
const FAILED: u8 = 1;

/// Runs the tests of a template and says of each what it came to.
pub(super) async fn test(edge: &Edge, args: &TestArgs) -> Result<u8, Failure> {
    let progress = Reporter::new(&edge.printer, ProgressMode::Auto, Detail::Work);
    let request =
        TestRequest { reference: args.reference.clone(), filter: args.filter.clone(), keep: args.keep };
    let options = FetchOptions { frozen: args.frozen, ..(&args.fetch).into() };
    let (sandboxes, lines) = (TestSandboxes::default(), Lines::new(edge.printer));
    let work = template::test(&edge.context, &request, &options, &progress, &lines, &sandboxes);
    let report = interruptible(&progress, work).await;
    drop(progress);
    if report.is_err() && !args.keep {
        sandboxes.end().await;
    }
    let report = report?;
    if let Some(path) = &args.junit {
        let path = edge.context.cwd.join(path);
        let written = write_atomic(&path, junit::document(&report).as_bytes());
        written.map_err(|source| EdgeError::Write { path, source })?;
    }
    lines.sum_up(&report)?;
    Ok(if report.failed() == 0 { 0 } else { FAILED })
}

/// `8 passed, 1 failed`.
fn count(report: &TestReport) -> String {
    let (all, failed) = (report.tests().count(), report.failed());
    format!("{} passed, {failed} failed", all - failed)
}
