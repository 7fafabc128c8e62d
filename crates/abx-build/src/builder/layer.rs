//! One step's layer: from the store, or made.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abx_core::fs::Lock;
use abx_core::progress::{Task, Unit, start};
use abx_core::{Event, Progress, Snippet};
use abx_image::{LayerId, LayerRecord, StagedLayer};
use abx_source::{Lineage, Package, PackageRoot};

use super::{Builder, Outcome};
use crate::canvas::{Canvas, Owner};
use crate::error::{BuildError, FailedStep};
use crate::job::Scope;
use crate::key::Hasher;
use crate::setup::{SetupFailure, owner_of};
use crate::step::{Action, Step};
use crate::view::View;

/// How often a wait looks whether it shall end.
const PAUSE: Duration = Duration::from_millis(50);

/// A build under way.
pub(crate) struct Build<'a> {
    pub(crate) builder: &'a Builder,
    pub(crate) lineage: &'a Lineage,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) stop: &'a AtomicBool,
    /// The layers so far, bottom first, those without effect left out.
    pub(crate) layers: Vec<LayerId>,
    /// Whether what killed builds left has been looked for.
    pub(crate) is_swept: bool,
    /// Whether the layers so far hold what a template of anybody brought along.
    pub(crate) is_foreign: bool,
}

impl Build<'_> {
    /// Adds the layer of `step`, and says whether it has one at all.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(Outcome, bool), BuildError> {
        self.check_stop()?;
        let task = start(self.progress, format!("{}: {}", step.template, step.title), None, Unit::Items);
        let outcome = match self.builder.store.has_layer(&step.key) {
            true => Outcome::Cached,
            false => self.make_once(step, &task)?,
        };
        let has_effect = has_entries(&self.builder.store.layer_path(&step.key))
            .map_err(BuildError::state("read", self.builder.store.layer_path(&step.key)))?;
        if has_effect {
            self.layers.push(step.key.clone());
        }
        self.is_foreign = self.is_foreign || self.brings_along(step);
        task.finish(if outcome == Outcome::Cached { "cached" } else { "done" });
        Ok((outcome, has_effect))
    }

    /// Makes the layer, unless another process that was at it has made it meanwhile.
    fn make_once(&mut self, step: &Step, task: &Task<'_>) -> Result<Outcome, BuildError> {
        let _lock = self.lock(step)?;
        if self.builder.store.has_layer(&step.key) {
            return Ok(Outcome::Cached);
        }
        // What killed builds left may fill the disk: only now that something is made anyway.
        if !std::mem::replace(&mut self.is_swept, true) {
            self.builder.store.sweep_staging()?;
        }
        let staged = match step.action.runs_processes() {
            true => crate::process::run_step(self, step, task)?,
            false => self.write_files(step)?,
        };
        self.check_stop()?;
        staged.publish(step.key.clone(), &LayerRecord::new(&step.title))?;
        Ok(Outcome::Built)
    }

    /// Whether a step puts into the image what neither we nor the distribution vouch for.
    fn brings_along(&self, step: &Step) -> bool {
        let is_ours = |package: &Package| matches!(package.root, PackageRoot::Embedded(_));
        let is_plain =
            matches!(step.action, Action::Setup { .. } | Action::Apt { .. } | Action::Finish { .. });
        !is_plain && !self.lineage.packages.get(step.member).is_some_and(is_ours)
    }

    /// Caches for the template of `step` alone, wherever another one of its name comes from.
    pub(crate) fn own_scope(&self, step: &Step) -> Scope {
        let place = match self.lineage.packages.get(step.member).map(|package| &package.root) {
            Some(PackageRoot::Dir(path)) => path.as_os_str().as_encoded_bytes(),
            _ => b"",
        };
        let digest = Hasher::new("place").field(place).hex();
        Scope::Template(format!("{}-{}", step.template, &digest[..8]))
    }

    fn lock(&self, step: &Step) -> Result<Lock, BuildError> {
        let mut is_told = false;
        loop {
            if let Some(lock) = self.builder.store.try_lock_layer(&step.key)? {
                return Ok(lock);
            }
            if !std::mem::replace(&mut is_told, true) {
                let title = &step.title;
                self.progress.event(Event::Note(format!("waiting for another build that makes `{title}`")));
            }
            self.pause()?;
        }
    }

    /// Waits for something that one process may use at a time.
    pub(crate) fn lock_file(&self, path: &Path) -> Result<Lock, BuildError> {
        loop {
            if let Some(lock) = Lock::try_exclusive(path).map_err(BuildError::state("lock", path))? {
                return Ok(lock);
            }
            self.pause()?;
        }
    }

    /// Waits a moment, for something another process does.
    fn pause(&self) -> Result<(), BuildError> {
        self.check_stop()?;
        std::thread::sleep(PAUSE);
        Ok(())
    }

    pub(crate) fn check_stop(&self) -> Result<(), BuildError> {
        if self.stop.load(Ordering::Relaxed) { Err(BuildError::Stopped) } else { Ok(()) }
    }

    /// The layers so far, seen as one.
    pub(crate) fn view(&self) -> View {
        View::new(self.layers.iter().map(|layer| self.builder.store.layer_path(layer)).collect())
    }

    fn write_files(&self, step: &Step) -> Result<StagedLayer, BuildError> {
        let staged = self.builder.store.begin_layer()?;
        let canvas = Canvas::new(&self.view(), &staged.fs());
        match self.write(step, &canvas).and_then(|()| Ok(canvas.seal()?)) {
            Ok(()) => Ok(staged),
            Err(SetupFailure::UserName) => Err(self.user_name(step)),
            Err(SetupFailure::Io(source)) => {
                Err(BuildError::Files { step: Box::new(self.failed(step, String::new())), source })
            }
        }
    }

    fn write(&self, step: &Step, canvas: &Canvas) -> Result<(), SetupFailure> {
        let owner =
            |user: &str| -> io::Result<Owner> { Ok(owner_of(canvas.view(), user)?.unwrap_or_default()) };
        match &step.action {
            Action::Setup { user, workdir } => crate::setup::setup(canvas, user, workdir),
            Action::Files { tree, workdir, user } => {
                Ok(crate::copy::copy(canvas, tree, "", "", Path::new(workdir), owner(user)?)?)
            }
            Action::Copy { tree, source, dest, workdir, user } => {
                Ok(crate::copy::copy(canvas, tree, source, dest, Path::new(workdir), owner(user)?)?)
            }
            Action::Finish { env, keep, directory } => {
                Ok(crate::finish::finish(canvas, env, keep, directory)?)
            }
            Action::Apt { .. }
            | Action::Pip { .. }
            | Action::Npm { .. }
            | Action::Run { .. }
            | Action::Script { .. } => Ok(()),
        }
    }

    fn user_name(&self, step: &Step) -> BuildError {
        let user = match &step.action {
            Action::Setup { user, .. } => user.clone(),
            _ => String::new(),
        };
        BuildError::UserName { user, template: step.template.clone() }
    }

    /// What an error says about `step`.
    pub(crate) fn failed(&self, step: &Step, command: String) -> FailedStep {
        FailedStep {
            title: step.title.clone(),
            template: step.template.clone(),
            command,
            snippet: self.snippet(step),
            ..FailedStep::default()
        }
    }

    /// The line of the item of `step`'s list that one of `packages` is about.
    pub(crate) fn snippet_of_package(&self, step: &Step, packages: &[String]) -> Option<Snippet> {
        let package = self.lineage.packages.get(step.member)?;
        let build = &package.spec.build;
        let items = match &step.action {
            Action::Apt { .. } => &build.apt_install,
            Action::Pip { .. } => &build.pip_install,
            Action::Npm { .. } => &build.npm_install,
            _ => return None,
        };
        let item = items.iter().find(|item| packages.iter().any(|name| names(&item.value, name)))?;
        Some(package.snippet(&item.place))
    }

    fn snippet(&self, step: &Step) -> Option<Snippet> {
        let place = step.place.as_ref()?;
        if let Action::Script { content } = &step.action {
            let source = content.lines().next().unwrap_or_default().to_owned();
            let (file, length) = (place.file.clone(), source.chars().count().max(1));
            return Some(Snippet { file, line: 1, column: 1, length, source, label: String::new() });
        }
        Some(self.lineage.packages.get(step.member)?.snippet(place))
    }
}

/// Whether a requirement of a template is the one a tool calls `name`: tools may add a version, or leave one out.
fn names(requirement: &str, name: &str) -> bool {
    let bare = |text: &str| -> String {
        let end = text.find(['=', '<', '>', '~', '!', '[', ';', ' ']).unwrap_or(text.len());
        let text = text[..end].trim_end_matches("@*");
        text.to_ascii_lowercase().replace(['_', '.'], "-")
    };
    bare(requirement) == bare(name)
}

/// Whether a layer has anything in it.
fn has_entries(directory: &Path) -> io::Result<bool> {
    Ok(std::fs::read_dir(directory)?.next().is_some())
}
