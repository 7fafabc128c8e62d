//! A sandbox for each file, one test after the other.

use std::time::Instant;

use abx_build::Built;
use abx_core::{Fault, Progress};
use abx_source::SuiteFile;
use abx_spec::suite::{Check, Test};

use super::finding::{Finding, Unseen};
use super::report::{FileReport, Outcome};
use super::{TestRequest, TestSandboxes, TestWatcher};
use crate::sandbox::LimitHits;
use crate::{Context, CreateRequest, Error, FetchOptions, Sandbox};

/// What all tests of a run share.
pub(super) struct Runner<'a> {
    pub(super) context: &'a Context,
    pub(super) request: &'a TestRequest,
    pub(super) options: &'a FetchOptions,
    pub(super) progress: &'a dyn Progress,
    pub(super) watcher: &'a dyn TestWatcher,
    pub(super) sandboxes: &'a TestSandboxes,
    pub(super) built: &'a Built,
}

impl Runner<'_> {
    /// Runs the tests of a file.
    pub(super) async fn file(&self, file: &SuiteFile) -> Result<FileReport, Error> {
        let start = Instant::now();
        self.watcher.began(&file.display, file.suite.tests.len());
        let (mut tests, mut kept, mut shared) = (Vec::new(), Vec::new(), None);
        for test in &file.suite.tests {
            let is_fresh = test.is_fresh || file.suite.sandbox.is_fresh;
            let sandbox = if is_fresh { None } else { shared.take() };
            let begun = Instant::now();
            let (sandbox, found) = self.test(file, test, sandbox).await;
            let outcome = outcome(test, begun, found);
            self.watcher.done(&outcome);
            tests.push(outcome);
            match sandbox {
                Some(sandbox) if is_fresh || self.has_ended(&sandbox) => kept.extend(self.end(sandbox).await),
                sandbox => shared = sandbox.or(shared),
            }
        }
        if let Some(sandbox) = shared {
            kept.extend(self.end(sandbox).await);
        }
        let seconds = start.elapsed().as_secs_f64();
        Ok(FileReport { file: file.display.clone(), seconds, tests, kept })
    }

    /// Runs one test, in a sandbox that is made for it where there is none yet.
    async fn test(
        &self,
        file: &SuiteFile,
        test: &Test,
        sandbox: Option<Sandbox>,
    ) -> (Option<Sandbox>, Result<Finding, Unseen>) {
        let sandbox = match sandbox {
            Some(sandbox) => sandbox,
            None => match self.create(file).await {
                Ok(sandbox) => sandbox,
                Err(error) => return (None, Err(error.into())),
            },
        };
        let before = sandbox.limit_hits();
        let mut found = self.look(&sandbox, test).await;
        if let Ok(finding) = &mut found
            && !finding.failures.is_empty()
        {
            finding.output.extend(limit_hit(&sandbox, before));
        }
        (Some(sandbox), found)
    }

    async fn create(&self, file: &SuiteFile) -> Result<Sandbox, Error> {
        let wishes = &file.suite.sandbox;
        let request = CreateRequest {
            reference: self.request.reference.clone(),
            env: wishes.env.clone(),
            cpu: wishes.cpu,
            memory: wishes.memory,
            disk: wishes.disk,
            network: wishes.network,
            // What was built a moment ago is tested, and nothing else.
            fetch: FetchOptions { no_cache: false, ..self.options.clone() },
            ..CreateRequest::default()
        };
        let sandbox = crate::create(self.context, &request, self.progress).await?;
        self.sandboxes.add(&sandbox);
        Ok(sandbox)
    }

    async fn look(&self, sandbox: &Sandbox, test: &Test) -> Result<Finding, Unseen> {
        let client = sandbox.client();
        match &test.check {
            Check::Run(check) => {
                let (shell, workdir) = sandbox.shell();
                super::command::check(&client, shell, workdir, check, &test.place).await
            }
            Check::Code(check) => super::code::check(sandbox, check, &test.place).await,
            Check::Call(check) => super::call::check(sandbox, check, &test.place).await,
            Check::Commands(names) => super::call::are_there(sandbox, names).await,
            Check::Programs(programs) => super::programs::check(&client, programs).await,
            Check::Packages(packages) => super::packages::check(&client, packages).await,
            Check::File(check) => super::file::check(&client, check).await,
            Check::Port(check) => super::port::check(&client, check).await,
            Check::Capabilities(words) => super::state::capabilities(sandbox, words),
            Check::Health { word, within } => {
                super::state::health(self.context, sandbox, word, *within).await
            }
            Check::Resources(wishes) => super::state::resources(sandbox, wishes),
            Check::Image(check) => super::image::check(self.context, self.built, check).await,
        }
    }

    fn has_ended(&self, sandbox: &Sandbox) -> bool {
        crate::find(self.context, sandbox.id()).is_err()
    }

    /// Ends a sandbox, or leaves it and says which.
    async fn end(&self, sandbox: Sandbox) -> Option<String> {
        self.sandboxes.remove(&sandbox);
        if self.request.keep {
            return Some(sandbox.id().to_owned());
        }
        // It may have ended by itself.
        let _ = sandbox.kill().await;
        None
    }
}

/// What failed while a limit was hit failed of that, as far as anybody can tell.
fn limit_hit(sandbox: &Sandbox, before: LimitHits) -> Option<String> {
    let (after, (_, memory, _, pids)) = (sandbox.limit_hits(), sandbox.limits());
    if after.memory_kills > before.memory_kills {
        return Some(format!(
            "the sandbox's memory limit of {memory} MB was hit, and a process of it killed"
        ));
    }
    let is_refused = after.refused_forks > before.refused_forks;
    is_refused.then(|| format!("the sandbox's limit of {pids} processes was hit, and another one refused"))
}

fn outcome(test: &Test, begun: Instant, found: Result<Finding, Unseen>) -> Outcome {
    let finding = found.unwrap_or_else(|unseen| {
        let mut finding = Finding::default();
        let what = match &unseen {
            Unseen::Client(_) => "the call",
            Unseen::Facade(_) => "the sandbox",
        };
        finding.miss(&test.place, what, "no error".to_owned(), unseen.to_string());
        if let Unseen::Facade(error) = &unseen {
            finding.output.extend(error.details());
        }
        finding
    });
    Outcome {
        name: test.name.clone(),
        file: test.place.file.clone(),
        line: test.place.line,
        passed: finding.failures.is_empty(),
        seconds: begun.elapsed().as_secs_f64(),
        failures: finding.failures,
        output: finding.output,
    }
}
