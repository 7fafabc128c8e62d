//! One step's layer: from the store, or made.

use std::io;
use std::path::Path;

use abx_core::Snippet;
use abx_core::progress::{Unit, start};
use abx_image::{LayerId, StagedLayer};
use abx_source::{Lineage, Package, PackageRoot};

use super::Outcome;
use super::workshop::Workshop;
use crate::canvas::{Canvas, Owner};
use crate::error::{BuildError, FailedStep};
use crate::job::Scope;
use crate::key::Hasher;
use crate::setup::{SetupFailure, owner_of};
use crate::step::{Action, Step};
use crate::view::View;

/// A build under way.
pub(crate) struct Build<'a> {
    pub(crate) workshop: Workshop<'a>,
    pub(crate) lineage: &'a Lineage,
    /// The layers so far, bottom first, those without effect left out.
    pub(crate) layers: Vec<LayerId>,
    /// Whether the layers so far hold what a template of anybody brought along.
    pub(crate) is_foreign: bool,
}

impl Build<'_> {
    /// Adds the layer of `step`, and says whether it has one at all.
    pub(crate) fn step(&mut self, step: &Step) -> Result<(Outcome, bool), BuildError> {
        let label = format!("{}: {}", step.template, step.title);
        let task = start(self.workshop.progress, label, None, Unit::Items);
        let make = || match step.action.runs_processes() {
            true => crate::process::run_step(self, step, &task),
            false => self.write_files(step),
        };
        let outcome = self.workshop.layer(&step.key, &step.title, make)?;
        let has_effect = self.workshop.has_effect(&step.key)?;
        if has_effect {
            self.layers.push(step.key.clone());
        }
        self.is_foreign = self.is_foreign || self.brings_along(step);
        task.finish(if outcome == Outcome::Cached { "cached" } else { "done" });
        Ok((outcome, has_effect))
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

    /// The layers so far, seen as one.
    pub(crate) fn view(&self) -> View {
        self.workshop.view(&self.layers)
    }

    fn write_files(&self, step: &Step) -> Result<StagedLayer, BuildError> {
        let staged = self.workshop.builder.store.begin_layer()?;
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
