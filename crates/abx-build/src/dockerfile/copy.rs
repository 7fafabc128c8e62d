//! `COPY`, `ADD` and `WORKDIR`: layers that need no process.
//!
//! In reading order: [`select`] (which files), [`files`] (what they are), [`paint`] (writing them), [`mode`] and
//! [`xattrs`]; [`fetch`] and [`archive`] are what `ADD` has besides.

pub(super) mod files;
pub(super) mod mode;
pub(super) mod paint;
pub(super) mod select;
mod xattrs;

use std::path::{Path, PathBuf};

use abx_core::progress::Task;
use abx_dockerfile::{Add, Copy, Files, Ignore, Origin};
use abx_image::StagedLayer;

use super::refusal::Refusal;
use super::stage::{Stage, Step};
use super::users;
use crate::canvas::{Canvas, Owner};
use crate::error::BuildError;
use crate::key::Hasher;
use files::Root;
use mode::Chmod;
use paint::Painter;
use select::Source;

/// The version of the way files are copied: raised with every change that alters results.
const VERSION: u64 = 1;

/// A `COPY` or `ADD` with everything looked up.
struct Plan {
    sources: Vec<Source>,
    /// Absolute; ends with `/` where it must be a directory.
    dest: String,
    owner: Option<Owner>,
    mode: Option<Chmod>,
    /// Whether paths of the items are those below the destination.
    parents: bool,
}

/// Adds the layer of a `COPY`.
pub(super) fn copy(stage: &mut Stage<'_, '_>, step: Step<'_>, copy: &Copy) -> Result<(), BuildError> {
    let plan = plan(stage, copy).map_err(stage.refuse(step))?;
    let hasher = plan.hash(stage.hasher("COPY", VERSION));
    let made_by = super::history::files("COPY", &copy.files);
    stage.layer(step, hasher.layer(), made_by, |stage, _: &Task<'_>| write(stage, step, &plan))
}

/// Adds the layer of an `ADD`.
pub(super) fn add(stage: &mut Stage<'_, '_>, step: Step<'_>, add: &Add) -> Result<(), BuildError> {
    let copy_like = Copy { files: add.files.clone(), from: None, parents: false };
    copy(stage, step, &copy_like)
}

/// Adds the layer of a `WORKDIR`, where the directory is not there yet.
pub(super) fn workdir(stage: &mut Stage<'_, '_>, step: Step<'_>, path: &str) -> Result<(), BuildError> {
    let path = match path.is_empty() {
        true => stage.workdir(),
        false => stage.absolute(path),
    };
    let path = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
    stage.state.config.workdir.clone_from(&path);
    stage.state.own.workdir = Some(path.clone());
    let made_by = format!("WORKDIR {path}");
    let view = stage.view();
    let unreadable = |source| Refusal::File { verb: "read", path: path.clone(), source };
    if view.exists(&path).map_err(unreadable).map_err(stage.refuse(step))? {
        stage.note(made_by);
        return Ok(());
    }
    let user = stage.state.config.user.clone();
    // A user that is still to come does not keep the directory from being made.
    let owner = users::identity(&view, &user).map(|identity| identity.owner).unwrap_or_default();
    let hasher = stage.hasher("WORKDIR", VERSION).field(&path);
    let key = hasher.number(owner.uid.into()).number(owner.gid.into()).layer();
    stage.layer(step, key, made_by, |stage, _: &Task<'_>| {
        on_canvas(stage, step, |canvas| {
            let painter = Painter { owner: Some(owner), ..Painter::new(canvas) };
            painter.folder(Path::new(&path))
        })
    })
}

fn plan(stage: &Stage<'_, '_>, copy: &Copy) -> Result<Plan, Refusal> {
    let files = &copy.files;
    let root = match &copy.from {
        None => context(stage),
        Some(from) => origin(stage, &from.text)?,
    };
    let patterns = files.exclude.iter().map(|pattern| &*pattern.text);
    let exclude = Ignore::of_patterns(patterns)
        .map_err(|problem| Refusal::Pattern { pattern: String::new(), reason: problem.to_string() })?;
    let mut sources = Vec::new();
    for word in &files.sources {
        match copy.parents {
            true => sources.push(select::with_parents(&root, &word.text, &exclude)?),
            false => sources.extend(select::sources(&root, &word.text, &exclude)?),
        }
    }
    for source in &mut sources {
        stage.project.workshop.check_stop().ok();
        files::digest(&mut source.items)?;
    }
    let view = stage.view();
    let owner = files.chown.as_ref().map(|chown| users::owner(&view, &chown.text)).transpose()?;
    let mode = files.chmod.as_ref().map(|chmod| Chmod::parse(&chmod.text));
    let dest = stage.absolute(&files.dest.text);
    let plan = Plan { sources, dest, owner, mode, parents: copy.parents };
    plan.check(&view, files)?;
    Ok(plan)
}

/// The build context.
pub(super) fn context<'a>(stage: &Stage<'_, 'a>) -> Root<'a> {
    let request = stage.project.request;
    Root {
        view: crate::view::View::new(vec![request.context.clone()]),
        ignore: request.ignore.as_ref(),
        is_context: true,
        name: "the build context".to_owned(),
    }
}

/// A stage or an image that files are taken from.
pub(super) fn origin<'a>(stage: &Stage<'_, 'a>, from: &str) -> Result<Root<'a>, Refusal> {
    let project = stage.project;
    let layers = match project.graph.origin(from) {
        Origin::Stage(number) => project.stage(number).map(|state| state.layers.clone()).unwrap_or_default(),
        Origin::Image(name) => project.image(&name)?.layers.clone(),
        Origin::Scratch => Vec::new(),
    };
    let name = match project.graph.origin(from) {
        Origin::Stage(_) => format!("the stage `{from}`"),
        _ => format!("the image `{from}`"),
    };
    Ok(Root { view: project.workshop.view(&layers), ignore: None, is_context: false, name })
}

impl Plan {
    /// Several files need a directory to go to.
    fn check(&self, view: &crate::view::View, files: &Files) -> Result<(), Refusal> {
        let count = self.sources.len().max(files.sources.len()) + files.inline.len();
        let is_directory = self.dest.ends_with('/')
            || view.open(&self.dest).ok().flatten().is_some_and(|(found, _)| found.metadata.is_dir());
        let is_plain = files.sources.len() + files.inline.len() > 1 && !self.dest.ends_with('/');
        if is_plain || (count > 1 && !is_directory) { Err(Refusal::SeveralFiles) } else { Ok(()) }
    }

    fn hash(&self, hasher: Hasher) -> Hasher {
        let owner = self.owner.map_or(String::new(), |owner| format!("{}:{}", owner.uid, owner.gid));
        let mode = self.mode.as_ref().map_or(String::new(), |mode| format!("{mode:?}"));
        let hasher = hasher.field(&self.dest).field(owner).field(mode).number(self.parents.into());
        let counted = hasher.number(self.sources.len() as u64);
        self.sources.iter().fold(counted, |hasher, source| {
            files::hash(&source.items, hasher.field(source.name.as_encoded_bytes()))
        })
    }
}

fn write(stage: &Stage<'_, '_>, step: Step<'_>, plan: &Plan) -> Result<StagedLayer, BuildError> {
    on_canvas(stage, step, |canvas| {
        let mut painter = Painter { owner: plan.owner, mode: plan.mode.clone(), ..Painter::new(canvas) };
        for source in &plan.sources {
            let target = target(canvas, plan, source)?;
            painter.paint(&target, &source.items)?;
        }
        Ok(())
    })
}

/// Where a source goes: into the destination or in its place.
fn target(canvas: &Canvas, plan: &Plan, source: &Source) -> Result<PathBuf, Refusal> {
    let unreadable = |error| Refusal::File { verb: "read", path: plan.dest.clone(), source: error };
    let found = canvas.view().find(&plan.dest).map_err(unreadable)?;
    let real = canvas.view().real(&plan.dest).map_err(unreadable)?;
    let is_directory = found.as_ref().is_some_and(|found| found.metadata.is_dir());
    if source.is_directory() || plan.parents {
        return match found {
            Some(_) if !is_directory => Err(Refusal::OverFile { path: plan.dest.clone() }),
            _ => Ok(real),
        };
    }
    Ok(if plan.dest.ends_with('/') || is_directory { real.join(&source.name) } else { real })
}

/// A layer that `work` writes over the layers so far.
fn on_canvas(
    stage: &Stage<'_, '_>,
    step: Step<'_>,
    work: impl FnOnce(&Canvas) -> Result<(), Refusal>,
) -> Result<StagedLayer, BuildError> {
    let staged = stage.project.workshop.builder.store.begin_layer()?;
    let canvas = Canvas::new(&stage.view(), &staged.fs());
    work(&canvas).map_err(stage.refuse(step))?;
    canvas.seal().map_err(BuildError::state("write", staged.fs()))?;
    Ok(staged)
}
