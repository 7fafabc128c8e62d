//! From a step to the job that does it.

use std::io;
use std::path::{Path, PathBuf};

use abx_core::fs::Staging;
use abx_isolate::RuntimeFile;

use super::Worker;
use crate::error::BuildError;
use crate::job::{Caches, Job, Scope, shell, shell_file};
use crate::network::RUN;
use crate::pip::Python;
use crate::step::Action;

/// A job ready to run.
pub(super) struct Prepared {
    pub(super) job: Job,
    /// What it runs, as a person would write it.
    pub(super) command: String,
    /// Where that is uv: the same with pip, where the image has it.
    pub(super) with_pip: Option<Box<(Job, String)>>,
}

impl Worker<'_> {
    /// The job for the step, helpers fetched that it needs.
    pub(super) fn prepare(&mut self) -> Result<Prepared, BuildError> {
        let prepared = |job, command: String| Prepared { job, command, with_pip: None };
        match &self.step.action {
            Action::Apt { packages } => {
                self.refuse_offline()?;
                let builder = self.build.workshop.builder;
                let job =
                    crate::apt::install(&self.view, &self.caches(), &builder.host, architecture(), packages);
                let hint = "apt_install is for images of Debian and its relatives; use `run` with the image's own package tool";
                let job = job.map_err(self.unreadable())?.ok_or_else(|| self.no_tool("apt", hint))?;
                Ok(prepared(job, format!("apt-get install {}", packages.join(" "))))
            }
            Action::Pip { packages } => {
                self.refuse_offline()?;
                self.prepare_pip(packages)
            }
            Action::Npm { packages } => {
                self.refuse_offline()?;
                let job = crate::npm::install(&self.view, &self.caches(), &self.step.env, packages);
                let hint = "add `npm` to apt_install, or inherit from `node-web`";
                let job = job.map_err(self.unreadable())?.ok_or_else(|| self.no_tool("npm", hint))?;
                Ok(prepared(job, format!("npm install --global {}", packages.join(" "))))
            }
            Action::Run { command } => {
                let argv = shell(&self.view, command, &[]).map_err(self.unreadable())?;
                Ok(prepared(self.command_job(argv, command)?, command.clone()))
            }
            Action::Script { content } => {
                let job = self.script_job(content)?;
                Ok(prepared(job, "scripts/setup.sh".to_owned()))
            }
            Action::Setup { .. } | Action::Files { .. } | Action::Copy { .. } | Action::Finish { .. } => {
                Ok(prepared(Job::default(), String::new()))
            }
        }
    }

    /// The caches of a package step.
    fn caches(&self) -> Caches<'_> {
        let scope = match self.build.is_foreign {
            true => self.build.own_scope(self.step),
            false => Scope::Shared,
        };
        Caches { home: &self.build.workshop.builder.home, scope }
    }

    fn refuse_offline(&self) -> Result<(), BuildError> {
        let (title, template) = (self.step.title.clone(), self.step.template.clone());
        if self.build.workshop.builder.offline {
            Err(BuildError::Offline { title, template })
        } else {
            Ok(())
        }
    }

    /// A command of the template's own, with caches of the template's own.
    fn command_job(&self, argv: Vec<String>, text: &str) -> Result<Job, BuildError> {
        let builder = self.build.workshop.builder;
        let caches = Caches { home: &builder.home, scope: self.build.own_scope(self.step) };
        let mut job = Job { argv, ..Job::default() }.with_caches(&caches);
        // A program that replaces the system's bundle needs it to be a plain file.
        job.over_system_bundle = !text.contains("ca-certificates");
        let mentions_apt = ["apt-get", "apt ", "aptitude"].iter().any(|word| text.contains(word));
        if mentions_apt && crate::apt::has_apt(&self.view).map_err(self.unreadable())? {
            crate::apt::add_caches(&mut job, &self.view, &caches, &builder.host, architecture())
                .map_err(self.unreadable())?;
        }
        Ok(job)
    }

    fn script_job(&self, content: &str) -> Result<Job, BuildError> {
        let path = format!("{RUN}/setup.sh");
        let interpreter = content.lines().next().and_then(|line| line.strip_prefix("#!")).map(str::trim);
        let argv = match interpreter {
            Some(line) if !is_shell(line) => vec![path.clone()],
            // Read by our shell, so that the first failure ends it as it does in `run`.
            _ => shell_file(&self.view, &path).map_err(self.unreadable())?,
        };
        let mut job = self.command_job(argv, content)?;
        job.files.push(RuntimeFile { path: path.into(), content: content.to_owned(), mode: 0o755 });
        Ok(job)
    }

    fn prepare_pip(&mut self, packages: &[String]) -> Result<Prepared, BuildError> {
        let builder = self.build.workshop.builder;
        let hint = "add `python3` to apt_install, or inherit from `python-base`";
        let python = crate::pip::python(&self.view, &self.step.env).map_err(self.unreadable())?;
        let python = python.ok_or_else(|| self.no_tool("python3", hint))?;
        let words = packages.join(" ");
        let pip = match python.has_pip {
            true => {
                let job = crate::pip::pip_install(&self.view, &self.caches(), &python, packages);
                Some((job.map_err(self.unreadable())?, format!("pip install {words}")))
            }
            false => None,
        };
        let uv = match crate::pip::uv_fits(packages, &self.step.env, &builder.host) || pip.is_none() {
            true => self.uv(&python)?,
            false => None,
        };
        match (uv, pip) {
            (Some(uv), pip) => {
                let env = &self.step.env;
                let job = crate::pip::uv_install(&self.view, &self.caches(), env, &python, &uv, packages);
                let job = job.map_err(self.unreadable())?;
                let command = format!("uv pip install {words}");
                Ok(Prepared { job, command, with_pip: pip.map(Box::new) })
            }
            (None, Some((job, command))) => Ok(Prepared { job, command, with_pip: None }),
            (None, None) => {
                Err(self.no_tool("pip", "add `python3-pip` to apt_install, or inherit from `python-base`"))
            }
        }
    }

    /// Our copy of uv for this image, fetched once; `None` where there is no way to it.
    fn uv(&mut self, python: &Python) -> Result<Option<PathBuf>, BuildError> {
        let home = &self.build.workshop.builder.home;
        let path =
            crate::pip::uv_path(&self.caches(), &self.view, architecture()).map_err(self.unreadable())?;
        if path.exists() {
            return Ok(Some(path));
        }
        let _lock = self.build.workshop.lock_file(&home.store("locks").join("tool-uv.lock"))?;
        if path.exists() {
            return Ok(Some(path));
        }
        match self.fetch_uv(python, &path) {
            Ok(found) => Ok(found.then_some(path)),
            Err(BuildError::Step { .. }) if python.has_pip => {
                self.note("uv is not to be had: installing with pip")?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn fetch_uv(&mut self, python: &Python, path: &Path) -> Result<bool, BuildError> {
        let builder = self.build.workshop.builder;
        let parent = builder.home.store("staging");
        let staging = Staging::new(&parent).map_err(BuildError::state("make", &parent))?;
        let job = crate::pip::fetch_uv(
            &self.view,
            &self.caches(),
            &builder.host,
            architecture(),
            python,
            staging.path().join("tools"),
        );
        let Some(job) = job.map_err(self.unreadable())? else { return Ok(false) };
        self.note("fetching uv")?;
        drop(self.run_in_layer(&job, "pip install uv")?);
        let found = staging.path().join("tools/uv/bin/uv");
        if !found.is_file() {
            return Ok(false);
        }
        // It has no record that a power cut could prove wrong.
        let synced = std::fs::File::open(&found).and_then(|file| file.sync_all());
        synced.map_err(BuildError::state("write", &found))?;
        staging.publish("tools/uv/bin/uv", path).map_err(BuildError::state("write", path))?;
        Ok(true)
    }

    fn unreadable(&self) -> impl FnOnce(io::Error) -> BuildError + use<> {
        BuildError::state("read", self.build.workshop.builder.home.store("layers"))
    }
}

/// The machine's name as OCI spells it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Whether an interpreter line names a shell.
fn is_shell(line: &str) -> bool {
    let program = line.split_whitespace().find(|word| !word.ends_with("/env")).unwrap_or_default();
    matches!(program.rsplit('/').next(), Some("sh" | "bash" | "dash"))
}
