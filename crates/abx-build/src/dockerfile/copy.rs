//! `COPY`, `ADD` and `WORKDIR`: layers that need no process.
//!
//! In reading order: [`select`] (which files), [`files`] (what they are), [`paint`] (writing them), [`mode`] and
//! [`xattrs`]; [`fetch`] and [`archive`] are what `ADD` has besides.

mod archive;
mod fetch;
pub(super) mod files;
pub(super) mod mode;
pub(super) mod paint;
pub(super) mod select;
mod xattrs;

use std::path::{Path, PathBuf};

use abx_core::progress::Task;
use abx_dockerfile::{Add, Copy, Files, Ignore, Origin};
use abx_image::StagedLayer;
use rustix::fs::Timespec;

use super::refusal::Refusal;
use super::stage::{Stage, Step};
use super::users;
use crate::canvas::{Canvas, Owner};
use crate::error::BuildError;
use crate::key::Hasher;
use files::{Node, Root};
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
    let plan = plan_copy(stage, copy).map_err(stage.refuse(step))?;
    layer(stage, step, "COPY", &copy.files, &plan)
}

/// Adds the layer of an `ADD`.
pub(super) fn add(stage: &mut Stage<'_, '_>, step: Step<'_>, add: &Add) -> Result<(), BuildError> {
    let plan = plan_add(stage, add).map_err(stage.refuse(step))?;
    layer(stage, step, "ADD", &add.files, &plan)
}

fn layer(
    stage: &mut Stage<'_, '_>,
    step: Step<'_>,
    keyword: &str,
    files: &Files,
    plan: &Plan,
) -> Result<(), BuildError> {
    // A build that is stopped while it reads files goes no further.
    stage.project.workshop.check_stop()?;
    let key = plan.hash(stage.hasher(keyword, VERSION)).layer();
    let made_by = super::history::files(keyword, files);
    stage.layer(step, key, made_by, |stage, _: &Task<'_>| write(stage, step, plan))
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

fn plan_copy(stage: &Stage<'_, '_>, copy: &Copy) -> Result<Plan, Refusal> {
    let root = match &copy.from {
        None => context(stage),
        Some(from) => origin(stage, &from.text)?,
    };
    let exclude = exclude(&copy.files)?;
    let mut sources = Vec::new();
    for word in &copy.files.sources {
        match copy.parents {
            true => sources.push(select::with_parents(&root, &word.text, &exclude)?),
            false => sources.extend(select::sources(&root, &word.text, &exclude)?),
        }
    }
    plan(stage, &copy.files, sources, copy.parents)
}

fn plan_add(stage: &Stage<'_, '_>, add: &Add) -> Result<Plan, Refusal> {
    let (root, exclude) = (context(stage), exclude(&add.files)?);
    let mut sources = Vec::new();
    for word in &add.files.sources {
        let is_url = fetch::is_url(&word.text);
        let mut found = match is_url {
            true => vec![fetched(stage, add, &word.text)?],
            false => select::sources(&root, &word.text, &exclude)?,
        };
        if add.unpack.unwrap_or(!is_url) {
            for source in found.iter_mut().filter(|source| source.is_file()) {
                let name = source.name.to_string_lossy();
                source.is_archive = archive::is_archive(&source.items[0].host, &name)?;
            }
        }
        sources.extend(found);
    }
    plan(stage, &add.files, sources, false)
}

fn fetched(stage: &Stage<'_, '_>, add: &Add, url: &str) -> Result<Source, Refusal> {
    let checksum = add.checksum.as_ref().map(|word| &*word.text);
    let fetched = fetch::fetch(&stage.project.workshop, url, checksum)?;
    let name = fetch::file_name(url).unwrap_or_default();
    if name.is_empty() && add.files.dest.text.ends_with('/') {
        return Err(Refusal::NoFileName { url: url.to_owned() });
    }
    let time = Timespec { tv_sec: fetched.modified, tv_nsec: 0 };
    Ok(Source::file(&name, Node::File { digest: fetched.digest }, fetched.path, 0o600, Some(time)))
}

fn exclude(files: &Files) -> Result<Ignore, Refusal> {
    let patterns = files.exclude.iter().map(|pattern| &*pattern.text);
    Ignore::of_patterns(patterns)
        .map_err(|problem| Refusal::Pattern { pattern: String::new(), reason: problem.to_string() })
}

fn plan(
    stage: &Stage<'_, '_>,
    files: &Files,
    mut sources: Vec<Source>,
    parents: bool,
) -> Result<Plan, Refusal> {
    for inline in &files.inline {
        let node = Node::Text { content: inline.content.text.clone() };
        sources.push(Source::file(&inline.name, node, PathBuf::new(), 0o644, None));
    }
    for source in &mut sources {
        files::digest(&mut source.items)?;
    }
    let view = stage.view();
    let owner = files.chown.as_ref().map(|chown| users::owner(&view, &chown.text)).transpose()?;
    let mode = files.chmod.as_ref().map(|chmod| Chmod::parse(&chmod.text));
    let dest = stage.absolute(&files.dest.text);
    let plan = Plan { sources, dest, owner, mode, parents };
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
        let count = self.sources.len();
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
            let hasher = hasher.field(source.name.as_encoded_bytes()).number(source.is_archive.into());
            files::hash(&source.items, hasher)
        })
    }
}

fn write(stage: &Stage<'_, '_>, step: Step<'_>, plan: &Plan) -> Result<StagedLayer, BuildError> {
    on_canvas(stage, step, |canvas| {
        let mut painter = Painter { owner: plan.owner, mode: plan.mode.clone(), ..Painter::new(canvas) };
        for source in &plan.sources {
            let target = target(canvas, plan, source)?;
            match source.is_archive {
                true => {
                    painter.folder(&target)?;
                    let name = source.name.to_string_lossy();
                    archive::unpack(canvas, &source.items[0].host, &name, &target)?;
                }
                false => painter.paint(&target, &source.items)?,
            }
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
    if source.is_directory() || source.is_archive || plan.parents {
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
