//! A package's own tests, run in real sandboxes.
//!
//! In reading order: [`report`] (what comes out), `run` (a sandbox for each file, one test after the other), `finding`
//! (what one look at a sandbox came to), and a file for each verb: `command`, `code`, `call`, `programs`, `packages`,
//! `file`, `port`, `state` (capabilities, health, resources), `image`.

mod call;
mod code;
mod command;
mod file;
mod finding;
mod image;
mod packages;
mod port;
mod programs;
mod report;
mod run;
mod state;

use std::sync::Mutex;

use abx_core::Progress;
use abx_source::SuiteFile;

pub use report::{FileReport, Mismatch, Outcome, TestReport};

use crate::{Context, Error, FetchOptions, Sandbox};

/// What to test, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestRequest {
    /// Any spelling of a template reference.
    pub reference: String,
    /// Only tests whose name or file has this in it.
    pub filter: Option<String>,
    /// Leaves the sandboxes to be looked at.
    pub keep: bool,
}

/// Hears of tests as they are done.
pub trait TestWatcher: Sync {
    /// A file of so many tests begins.
    fn began(&self, file: &str, count: usize);
    /// A test of it is over.
    fn done(&self, outcome: &Outcome);
}

/// The sandboxes of a run that live, so that who gives the run up can end them.
#[derive(Debug, Default)]
pub struct TestSandboxes(Mutex<Vec<Sandbox>>);

impl TestSandboxes {
    /// Ends what is left.
    pub async fn end(&self) {
        let left = std::mem::take(&mut *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        for sandbox in left {
            // It may have ended by itself.
            let _ = sandbox.kill().await;
        }
    }

    fn add(&self, sandbox: &Sandbox) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(sandbox.clone());
    }

    fn remove(&self, sandbox: &Sandbox) {
        let mut left = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        left.retain(|known| known.id() != sandbox.id());
    }
}

/// Builds a template and runs its tests.
///
/// # Errors
/// What stands in the way of the tests: a file that means nothing, a build that fails, no tests at all. That a test fails,
/// or that a sandbox does not start, is in the report.
pub async fn test(
    context: &Context,
    request: &TestRequest,
    options: &FetchOptions,
    progress: &dyn Progress,
    watcher: &dyn TestWatcher,
    sandboxes: &TestSandboxes,
) -> Result<TestReport, Error> {
    let _in_use = context.look_at_store().await;
    let lineage = super::lineage(context, &request.reference, options, progress).await?;
    let suites = match lineage.leaf() {
        Some(package) => abx_source::suites(package)?,
        None => Vec::new(),
    };
    let suites = chosen(suites, request)?;
    let _made = context.make_store().await?;
    let built = super::build_lineage(context, &lineage, options, progress).await?.built;
    let runner = run::Runner { context, request, options, progress, watcher, sandboxes, built: &built };
    let mut files = Vec::new();
    for suite in &suites {
        files.push(runner.file(suite).await?);
    }
    let metadata = &built.effective.metadata;
    Ok(TestReport {
        template: format!("{}:{}", metadata.name, metadata.version),
        image: built.image.id.0.clone(),
        files,
    })
}

/// The tests the filter lets through; where there are none, that is an error, lest nothing be taken for success.
fn chosen(suites: Vec<SuiteFile>, request: &TestRequest) -> Result<Vec<SuiteFile>, Error> {
    let reference = || request.reference.clone();
    if suites.iter().all(|file| file.suite.tests.is_empty()) {
        return Err(Error::NoTests { reference: reference() });
    }
    let Some(filter) = request.filter.as_deref() else { return Ok(suites) };
    let chosen = suites.into_iter().filter_map(|mut file| {
        if !file.path.contains(filter) {
            file.suite.tests.retain(|test| test.name.contains(filter));
        }
        (!file.suite.tests.is_empty()).then_some(file)
    });
    let chosen: Vec<SuiteFile> = chosen.collect();
    match chosen.is_empty() {
        true => Err(Error::NoTestCalled { reference: reference(), filter: filter.to_owned() }),
        false => Ok(chosen),
    }
}
