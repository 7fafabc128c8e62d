//! `COPY` and `ADD`.
//!
//! In reading order: [`select`] (which files), [`files`] (what they are), [`paint`] (writing them), [`mode`] and
//! [`xattrs`]; [`memo`] and [`contents`] spare reading what has not changed; [`fetch`] and
//! [`archive`] are what `ADD` has besides.

mod archive;
pub(super) mod contents;
mod fetch;
pub(super) mod files;
mod memo;
pub(super) mod mode;
pub(super) mod paint;
pub(super) mod select;
mod xattrs;

use std::path::PathBuf;

use abx_core::progress::Task;
use abx_dockerfile::{Add, Copy, Files, Ignore, Origin};
use abx_image::{LayerId, StagedLayer};
use rustix::fs::Timespec;

use super::refusal::Refusal;
use super::stage::{Stage, Step};
use super::users;
use crate::canvas::{Canvas, Owner};
use crate::error::BuildError;
use crate::key::Hasher;
use crate::view::View;
use files::{Node, Root};
use memo::Memo;
use mode::Chmod;
use paint::Painter;
use select::Source;

/// The version of the way files are copied: raised with every change that alters results.
const VERSION: u64 = 2;

/// How files are copied, whichever they are.
struct Manner {
    /// Absolute; ends with `/` where it must be a directory.
    dest: String,
    owner: Option<Owner>,
    mode: Option<Chmod>,
    /// Whether paths of the items are those below the destination.
    parents: bool,
}

/// Adds the layer of a `COPY`.
pub(super) fn copy(stage: &mut Stage<'_, '_>, step: Step<'_>, copy: &Copy) -> Result<(), BuildError> {
    let refuse = stage.refuse(step);
    let manner = Manner::of(stage, &copy.files, copy.parents).map_err(&refuse)?;
    let memo = Memo::of(stage, copy).map_err(&refuse)?;
    let known = memo.as_ref().and_then(Memo::read);
    let (tree, sources) = match known {
        Some(tree) => (tree, None),
        None => {
            let sources = copied(stage, copy, &manner).map_err(&refuse)?;
            let tree = tree(&sources);
            memo.iter().for_each(|memo| memo.write(&tree));
            (tree, Some(sources))
        }
    };
    let key = manner.hash(stage.hasher("COPY", VERSION)).field(tree).layer();
    let made_by = super::history::files("COPY", &copy.files);
    stage.layer(step, key, made_by, |stage, _: &Task<'_>| {
        let sources = match sources {
            Some(sources) => sources,
            None => copied(stage, copy, &manner).map_err(&refuse)?,
        };
        write(stage, step, &manner, &sources)
    })
}

/// Adds the layer of an `ADD`.
pub(super) fn add(stage: &mut Stage<'_, '_>, step: Step<'_>, add: &Add) -> Result<(), BuildError> {
    let refuse = stage.refuse(step);
    let manner = Manner::of(stage, &add.files, false).map_err(&refuse)?;
    let sources = added(stage, add, &manner).map_err(&refuse)?;
    // A build that was stopped while it fetched something goes no further.
    stage.project.workshop.check_stop()?;
    let key = manner.hash(stage.hasher("ADD", VERSION)).field(tree(&sources)).layer();
    let made_by = super::history::files("ADD", &add.files);
    stage.layer(step, key, made_by, |stage, _: &Task<'_>| write(stage, step, &manner, &sources))
}

/// The files of a `COPY`.
fn copied(stage: &Stage<'_, '_>, copy: &Copy, manner: &Manner) -> Result<Vec<Source>, Refusal> {
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
    complete(stage, &copy.files, sources, manner)
}

/// The files of an `ADD`.
fn added(stage: &Stage<'_, '_>, add: &Add, manner: &Manner) -> Result<Vec<Source>, Refusal> {
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
    complete(stage, &add.files, sources, manner)
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

/// Adds the documents, takes the digests, and sees that all fits the destination.
fn complete(
    stage: &Stage<'_, '_>,
    files: &Files,
    mut sources: Vec<Source>,
    manner: &Manner,
) -> Result<Vec<Source>, Refusal> {
    for inline in &files.inline {
        let node = Node::Text { content: inline.content.text.clone() };
        sources.push(Source::file(&inline.name, node, PathBuf::new(), 0o644, None));
    }
    for source in &mut sources {
        files::digest(&mut source.items, &stage.project.contents)?;
    }
    manner.check(&stage.view(), sources.len())?;
    Ok(sources)
}

/// What tells these files from others.
fn tree(sources: &[Source]) -> String {
    let counted = Hasher::new("tree").number(sources.len() as u64);
    let hasher = sources.iter().fold(counted, |hasher, source| {
        let hasher = hasher.field(source.name.as_encoded_bytes()).number(source.is_archive.into());
        files::hash(&source.items, hasher)
    });
    hasher.hex()
}

/// The build context.
pub(super) fn context<'a>(stage: &Stage<'_, 'a>) -> Root<'a> {
    let request = stage.project.request;
    Root {
        view: View::new(vec![request.context.clone()]),
        ignore: request.ignore.as_ref(),
        is_context: true,
        name: "the build context".to_owned(),
    }
}

/// A stage or an image that files are taken from.
pub(super) fn origin<'a>(stage: &Stage<'_, 'a>, from: &str) -> Result<Root<'a>, Refusal> {
    let view = stage.project.workshop.view(&origin_layers(stage, from)?);
    let name = match stage.project.graph.origin(from) {
        Origin::Stage(_) => format!("the stage `{from}`"),
        _ => format!("the image `{from}`"),
    };
    Ok(Root { view, ignore: None, is_context: false, name })
}

fn origin_layers(stage: &Stage<'_, '_>, from: &str) -> Result<Vec<LayerId>, Refusal> {
    let project = stage.project;
    Ok(match project.graph.origin(from) {
        Origin::Stage(number) => project.stage(number).map(|state| state.layers.clone()).unwrap_or_default(),
        Origin::Image(name) => project.image(&name)?.layers.clone(),
        Origin::Scratch => Vec::new(),
    })
}

impl Manner {
    fn of(stage: &Stage<'_, '_>, files: &Files, parents: bool) -> Result<Self, Refusal> {
        let view = stage.view();
        let owner = files.chown.as_ref().map(|chown| users::owner(&view, &chown.text)).transpose()?;
        let mode = files.chmod.as_ref().map(|chmod| Chmod::parse(&chmod.text));
        Ok(Self { dest: stage.absolute(&files.dest.text), owner, mode, parents })
    }

    /// Several files need a directory to go to: docker would leave the last one in the place of all.
    fn check(&self, view: &View, files: usize) -> Result<(), Refusal> {
        let is_directory = self.dest.ends_with('/')
            || view.open(&self.dest).ok().flatten().is_some_and(|(found, _)| found.metadata.is_dir());
        if files > 1 && !is_directory { Err(Refusal::SeveralFiles) } else { Ok(()) }
    }

    fn hash(&self, hasher: Hasher) -> Hasher {
        let owner = self.owner.map_or(String::new(), |owner| format!("{}:{}", owner.uid, owner.gid));
        let mode = self.mode.as_ref().map_or(String::new(), |mode| format!("{mode:?}"));
        hasher.field(&self.dest).field(owner).field(mode).number(self.parents.into())
    }
}

fn write(
    stage: &Stage<'_, '_>,
    step: Step<'_>,
    manner: &Manner,
    sources: &[Source],
) -> Result<StagedLayer, BuildError> {
    on_canvas(stage, step, |canvas| {
        let mut painter = Painter { owner: manner.owner, mode: manner.mode.clone(), ..Painter::new(canvas) };
        for source in sources {
            // Names of one file stay together within a source alone.
            painter.copies.clear();
            let target = target(canvas, manner, source)?;
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
fn target(canvas: &Canvas, manner: &Manner, source: &Source) -> Result<PathBuf, Refusal> {
    let unreadable = |error| Refusal::File { verb: "read", path: manner.dest.clone(), source: error };
    let found = canvas.view().find(&manner.dest).map_err(unreadable)?;
    let real = canvas.view().real(&manner.dest).map_err(unreadable)?;
    let is_directory = found.as_ref().is_some_and(|found| found.metadata.is_dir());
    if source.is_directory() || source.is_archive || manner.parents {
        return match found {
            Some(_) if !is_directory => Err(Refusal::OverFile { path: manner.dest.clone() }),
            _ => Ok(real),
        };
    }
    Ok(if manner.dest.ends_with('/') || is_directory { real.join(&source.name) } else { real })
}

/// A layer that `work` writes over the layers so far.
pub(super) fn on_canvas(
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
