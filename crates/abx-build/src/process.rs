//! Steps with a process: run in an isolated root over the layers so far, their writes becoming the layer.

mod jobs;
mod run;
pub(crate) mod spawn;

use std::io;
use std::time::SystemTime;

use abx_core::progress::Task;
use abx_image::StagedLayer;

use crate::builder::layer::Build;
use crate::canvas::Canvas;
use crate::error::{BuildError, Failure};
use crate::job::Job;
use crate::log::Log;
use crate::network::Redactor;
use crate::step::{Action, Step};
use crate::view::View;

use jobs::Prepared;
use spawn::End;

/// Makes the layer of a step that runs processes.
pub(crate) fn run_step(build: &Build<'_>, step: &Step, task: &Task<'_>) -> Result<StagedLayer, BuildError> {
    let redactor = Redactor::new(&build.workshop.builder.host);
    let name = format!("build-{}", step.key.0.get(..16).unwrap_or(&step.key.0));
    let logs = build.workshop.builder.home.logs();
    let log = Log::create(&logs, &name, &redactor).map_err(BuildError::state("write", logs))?;
    let mut worker = Worker { build, step, task, log, view: build.view() };
    let start = SystemTime::now();
    let staged = worker.work()?;
    let canvas = Canvas::new(&worker.view, &staged.fs());
    let after = || -> io::Result<()> {
        let temporary = !matches!(step.action, Action::Run { .. } | Action::Script { .. });
        crate::tidy::tidy(&worker.view, &staged.fs(), temporary)?;
        crate::bytecode::settle(&staged.fs(), start)?;
        crate::python::settle(&canvas)
    };
    after().map_err(BuildError::state("write", staged.fs()))?;
    Ok(staged)
}

/// One step at work.
pub(crate) struct Worker<'a> {
    pub(crate) build: &'a Build<'a>,
    pub(crate) step: &'a Step,
    task: &'a Task<'a>,
    log: Log<'a>,
    /// The layers below.
    pub(crate) view: View,
}

impl Worker<'_> {
    /// Runs the step's job. Where uv fails, or would take away what the distribution installed, pip has the
    /// last word.
    fn work(&mut self) -> Result<StagedLayer, BuildError> {
        let Prepared { job, command, with_pip } = self.prepare()?;
        let result = self.run_in_layer(&job, &command);
        let Some((job, command)) = with_pip.map(|with_pip| *with_pip) else { return result };
        match &result {
            Ok(staged) if crate::pip::harms_distribution(&staged.fs()) => {
                self.note("uv would replace packages of the distribution: installing with pip")?;
            }
            Err(BuildError::Step { failure: Failure::Status(_), .. }) => {
                self.note("uv could not install this: trying pip")?;
            }
            _ => return result,
        }
        drop(result);
        self.run_in_layer(&job, &command)
    }

    /// Runs `job` over the layers below, what it writes going to a layer of its own.
    pub(crate) fn run_in_layer(&mut self, job: &Job, command: &str) -> Result<StagedLayer, BuildError> {
        let staged = self.build.workshop.builder.store.begin_layer()?;
        let end = run::run(self, job, &staged)?;
        match self.failure(end) {
            None => {
                if let Some((path, content)) = &job.stamp {
                    std::fs::write(path, content).map_err(BuildError::state("write", path))?;
                }
                Ok(staged)
            }
            Some(failure) => Err(self.fail(failure, command)),
        }
    }

    /// Adds a line of ours to the output.
    pub(crate) fn note(&mut self, line: &str) -> Result<(), BuildError> {
        let task = self.task;
        self.log.note(line, &mut |line| task.output(line)).map_err(self.log_failed())
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), BuildError> {
        let task = self.task;
        self.log.write(bytes, &mut |line| task.output(line)).map_err(self.log_failed())
    }

    fn end_log(&mut self) -> Result<(), BuildError> {
        let task = self.task;
        self.log.finish(&mut |line| task.output(line)).map_err(self.log_failed())
    }

    fn log_failed(&self) -> impl FnOnce(io::Error) -> BuildError + use<> {
        BuildError::state("write", self.log.path().to_owned())
    }

    fn failure(&self, end: End) -> Option<Failure> {
        let failure = match end {
            End::Exited(0) => return None,
            End::Exited(status) => Failure::Status(status.into()),
            End::Signaled(signal) => Failure::Signal(signal),
            End::TimedOut => return Some(Failure::Timeout(self.build.workshop.builder.limits.timeout)),
            End::OutOfMemory(limit) => return Some(Failure::Memory(Some(limit))),
        };
        if self.log.lines().any(|line| line.contains("No space left on device")) {
            return Some(Failure::DiskFull);
        }
        let missing = match self.step.action {
            Action::Apt { .. } => crate::apt::missing(self.log.lines()),
            Action::Pip { .. } => crate::pip::missing(self.log.lines()),
            Action::Npm { .. } => crate::npm::missing(self.log.lines()),
            _ => None,
        };
        Some(missing.map_or(failure, |(packages, line)| Failure::NoPackage { packages, line }))
    }

    fn fail(&self, failure: Failure, command: &str) -> BuildError {
        let mut step = self.build.failed(self.step, command.to_owned());
        if let Failure::NoPackage { packages, .. } = &failure
            && let Some(snippet) = self.build.snippet_of_package(self.step, packages)
        {
            step.snippet = Some(snippet);
        }
        step.tail = self.log.tail();
        step.log = Some(self.log.path().to_owned());
        BuildError::Step { step: Box::new(step), failure }
    }

    /// A tool the step needs is not to be had.
    pub(crate) fn no_tool(&self, tool: &'static str, hint: &str) -> BuildError {
        let step = Box::new(self.build.failed(self.step, String::new()));
        BuildError::NoTool { step, tool, hint: hint.to_owned() }
    }
}
