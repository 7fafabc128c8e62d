//! `template.lock`: written, and written anew.

use std::path::{Path, PathBuf};
use std::time::Duration;

use abx_core::fs::write_durable;
use abx_core::{Event, Progress};
use abx_reference::Reference;
use abx_source::lock::find::{self, FoundLock, LockPlace};
use abx_source::lock::{Lock, LockedBase, LockedTemplate, describe};
use abx_source::{BaseImage, Lineage, LockError, SourceContext, SourceError};
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// What locking came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Locked {
    /// The lock file, as the user knows it.
    pub file: String,
    /// Whether it was written.
    pub written: bool,
    /// How many templates it holds in place.
    pub templates: usize,
    /// In which entries it differs from the one before.
    pub changes: Vec<Change>,
}

/// One entry that came to something else. What it came to is a tag, a commit or a digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// A reference as `base.from` has it, or the name of the base image.
    pub name: String,
    pub locked: Option<String>,
    pub new: Option<String>,
}

/// How to lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockRequest {
    /// Any spelling of a template reference.
    pub reference: String,
    /// Another file than `template.lock` beside the template, or in the working directory.
    pub output: Option<PathBuf>,
    /// Asks for everything anew, instead of keeping what still is as it was locked.
    pub update: bool,
    /// Says what would be written, and leaves the file alone.
    pub dry_run: bool,
}

/// Says in a lock what a template and everything it inherits from come to. Entries of the lock before are kept while
/// they fit, unless an update is asked for. Under `frozen` nothing is written, and what does not fit is a fault.
///
/// # Errors
/// Whatever resolving reports; E2008 under `frozen`; E2004 where the file is no lock, or that of another template.
pub async fn lock(
    context: &Context,
    request: &LockRequest,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<Locked, Error> {
    let _in_use = context.look_at_store().await;
    let reference = &request.reference;
    let parsed = Reference::parse(reference).map_err(SourceError::from)?;
    let mut settings = crate::github::settings(context, options);
    if request.update {
        // Whether a branch has moved is asked for now, without fetching anew what has not.
        settings.cache_ttl = Duration::ZERO;
    }
    let place = place(&parsed, request, context, &settings, progress).await?;
    let there = find::read(&place.path, &place.display)?;
    let is_of = |lock: &Lock| lock.top() == place.top || find::is_of(lock, &parsed);
    let before = there.clone().filter(is_of);
    let before = before.map(|lock| FoundLock::new(lock, place.display.clone(), false));
    let source = match (&before, request.update) {
        (_, true) => context.source(),
        (Some(before), false) => SourceContext { lock: Some(before.clone()), ..context.source() },
        // Of a repository with a lock of its own, that is the one to begin with.
        (None, false) => crate::lock::hold(context, reference, &settings, progress).await?,
    };
    let source = abx_source::fetch(reference, &source, &settings, progress).await?;
    let lineage = abx_source::resolve(reference, &source)?;
    if let (Some(other), None, None) = (&there, &before, &request.output) {
        let (file, top, subject) = (place.display, other.top().to_owned(), reference.clone());
        return Err(LockError::Occupied { file, top, subject }.into());
    }
    verify(context, reference, before.as_ref(), (&lineage, &source), options, progress).await?;
    warn_of_paths(&lineage, progress);
    let locking = Locking { context, is_update: request.update, options, progress };
    let base = match &lineage.base {
        BaseImage::Image { name, .. } => Some(locking.image(name, lineage.locked.as_ref()).await?),
        _ => None,
    };
    let mut images = Vec::new();
    for name in lineage.images() {
        let locked = source.lock.as_ref().and_then(|found| found.lock.image(&name));
        images.push(locking.image(&name, locked).await?);
    }
    let lock = Lock { templates: describe(&lineage, &place.top, &source)?, base, images };
    let changes = changes(before.as_ref().map(|before| &before.lock), &lock);
    let is_same = before.is_some_and(|before| before.lock == lock);
    let written = !is_same && !request.dry_run && !options.frozen;
    if written {
        let text = lock.to_string();
        write_durable(&place.path, text.as_bytes()).map_err(LockError::io("write", &place.path))?;
    }
    Ok(Locked { file: place.display, written, templates: lock.templates.len(), changes })
}

/// Under `frozen` nothing may differ from the lock before; else a package may, unless it is at the same commit.
async fn verify(
    context: &Context,
    reference: &str,
    before: Option<&FoundLock>,
    (lineage, source): (&Lineage, &SourceContext),
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<(), Error> {
    if options.frozen {
        crate::lock::check(reference, lineage, source, options, progress)?;
        return crate::lock::check_base(context, reference, lineage, source, options, progress).await;
    }
    if let Some(found) = source.lock.as_ref().or(before) {
        found.lock.drift(&describe(lineage, found.lock.top(), source)?, &lineage.base, &found.file)?;
    }
    Ok(())
}

/// Where the lock is to be. Of a repository nothing has to be fetched to know.
async fn place(
    reference: &Reference,
    request: &LockRequest,
    context: &Context,
    settings: &abx_source::GithubSettings,
    progress: &dyn Progress,
) -> Result<LockPlace, Error> {
    let mut place = match reference {
        Reference::Local(_) => {
            let source = abx_source::fetch_leaf(reference, &context.source(), settings, progress).await?;
            let package = abx_source::leaf(reference, &source)?;
            let place = package.as_ref().and_then(LockPlace::of_package);
            // What was unpacked into the store is nobody's to write to.
            place
                .filter(|place| !is_ours(&place.path, context))
                .ok_or_else(|| LockError::NoPlace { subject: request.reference.clone() })?
        }
        _ => LockPlace::of_reference(reference, &context.source()),
    };
    if let Some(output) = &request.output {
        place.path = context.cwd.join(output);
        place.display = output.display().to_string();
    }
    Ok(place)
}

fn is_ours(path: &Path, context: &Context) -> bool {
    let home = context.home.root().canonicalize();
    home.is_ok_and(|home| path.starts_with(home))
}

/// How images are locked.
struct Locking<'a> {
    context: &'a Context,
    is_update: bool,
    options: &'a FetchOptions,
    progress: &'a dyn Progress,
}

impl Locking<'_> {
    /// What an image is: as it is locked while that is to be had, else that of the store, unless it is to be asked for
    /// anew.
    async fn image(&self, name: &str, locked: Option<&LockedBase>) -> Result<LockedBase, Error> {
        let (context, options, progress) = (self.context, self.options, self.progress);
        if let Some(locked) = locked {
            // Under `frozen` that was looked at; offline nobody can say that there is something newer.
            let is_kept = options.frozen || options.offline || {
                let store = context.store();
                crate::base_image::drift(context, &store, locked, options, progress).await?.is_none()
            };
            if is_kept {
                return Ok(locked.clone());
            }
        }
        let known = match (self.is_update || options.no_cache) && !options.offline {
            true => None,
            false => crate::base_image::known_state(context, &context.store(), name)?,
        };
        match known {
            Some(known) => Ok(known),
            None => crate::base_image::current(context, name, options, progress).await,
        }
    }
}

/// A lock is for every machine.
fn warn_of_paths(lineage: &Lineage, progress: &dyn Progress) {
    for package in &lineage.packages {
        if let Some(abx_spec::Base::From(at) | abx_spec::Base::Either(at)) = &package.spec.base
            && let Ok(Reference::Local(path)) = Reference::parse(&at.value)
            && !path.is_relative()
        {
            let (display, path) = (&package.display, path.as_str());
            progress.event(Event::Warning(format!("{display} inherits from {path}, a path of this machine")));
        }
    }
}

fn changes(before: Option<&Lock>, after: &Lock) -> Vec<Change> {
    let entries = |lock: Option<&Lock>| {
        let templates = lock.into_iter().flat_map(|lock| &lock.templates);
        let mut entries: Vec<(String, String)> =
            templates.map(|template| (template.reference.clone(), came_to(template))).collect();
        let images = lock.into_iter().flat_map(|lock| lock.base.iter().chain(&lock.images));
        entries.extend(images.map(|image| (image.image().to_owned(), image.shown())));
        entries
    };
    let (before, after) = (entries(before), entries(Some(after)));
    let mut changes = Vec::new();
    for (name, new) in &after {
        let locked = before.iter().find(|(other, _)| other == name).map(|(_, locked)| locked);
        if locked != Some(new) && !new.is_empty() {
            changes.push(Change { name: name.clone(), locked: locked.cloned(), new: Some(new.clone()) });
        }
    }
    for (name, locked) in &before {
        if !after.iter().any(|(other, _)| other == name) {
            changes.push(Change { name: name.clone(), locked: Some(locked.clone()), new: None });
        }
    }
    changes
}

fn came_to(template: &LockedTemplate) -> String {
    match template.digest.is_none() && template.commit.is_none() {
        true => String::new(),
        false => template.shown(),
    }
}
