//! The step before resolving that may leave this machine.
//!
//! Resolving is a loop over files, and stays one: where it comes to a repository that is not at hand it says so,
//! and that repository is fetched and the loop begun anew. A lineage is short and reading it takes microseconds;
//! so the network is here alone, waits like everything else that waits, and can be interrupted.

use std::sync::Arc;

use abx_core::{Event, Progress};
use abx_reference::{Github, Reference};

use crate::catalog::catalog;
use crate::error::Wanted;
use crate::github::{Checkout, GithubError, GithubSettings, checkout};
use crate::{SourceContext, SourceError, leaf, local_archive, registry, resolve};

/// Has every repository on disk that resolving `text` needs. The context that comes back resolves it.
///
/// # Errors
/// A repository is not to be had. Other faults are left for resolving to tell.
pub async fn fetch(
    text: &str,
    context: &SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<SourceContext, SourceError> {
    let asked = Reference::parse(text)?;
    let mut context = context.clone();
    while let Err(error) = resolve(text, &context) {
        let Some(wanted) = error.wanted() else { break };
        if let Err(reason) = have(wanted, &asked, &mut context, settings, progress).await {
            return Err(error.because(reason));
        }
    }
    Ok(context)
}

/// Has what the reference itself names on disk, for [`leaf`](fn@crate::leaf); nothing it inherits from.
pub async fn fetch_leaf(
    reference: &Reference,
    context: &SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<SourceContext, SourceError> {
    let mut context = context.clone();
    while let Err(error) = leaf(reference, &context) {
        let Some(wanted) = error.wanted() else { break };
        if let Err(reason) = have(wanted, reference, &mut context, settings, progress).await {
            return Err(error.because(reason));
        }
    }
    Ok(context)
}

/// Adds what is wanted to what is at hand. That there is no catalog is something to know as well.
async fn have(
    wanted: Wanted,
    asked: &Reference,
    context: &mut SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<(), SourceError> {
    match wanted {
        Wanted::Repository(wanted) => match pinned(&wanted, context, settings, progress).await {
            Ok(found) => context.checkouts.push(found),
            Err(reason) if is_locked_release(&wanted, context) => {
                let text = format!("{wanted} is not to be had, so what comes with this program: {reason}");
                progress.event(Event::Warning(text));
                if let Some(found) = &mut context.lock {
                    found.frees_names = true;
                }
            }
            Err(reason) => {
                let is_asked = matches!(asked, Reference::Github(asked) if *asked == wanted);
                return Err(refused(&wanted, is_asked, reason, context));
            }
        },
        Wanted::Image(wanted) => {
            let image = registry::look_up(&wanted, context, settings, progress).await?;
            context.images.push(image);
        }
        Wanted::Archive { file, display } => {
            let archive = local_archive::open(file, display, &context.home, &settings.caps, progress).await?;
            context.archives.push(archive);
        }
        Wanted::Catalog => {
            context.catalog = Some(Arc::new(catalog(context, false, settings, progress).await));
        }
    }
    Ok(())
}

/// Whether a repository is wanted for the sake of a lock alone: it holds an older release of a built-in template.
fn is_locked_release(wanted: &Github, context: &SourceContext) -> bool {
    let Some(found) = context.lock.as_ref().filter(|found| !found.frees_names) else { return false };
    wanted.git_ref().is_some_and(|git_ref| found.lock.has_release(&git_ref.to_string()))
}

/// Has a repository at the commit it is locked to, else at the one its reference stands for now.
async fn pinned(
    wanted: &Github,
    context: &SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<Checkout, GithubError> {
    match context.locked().and_then(|lock| lock.commit(wanted)) {
        Some((commit, tag)) => {
            let found = checkout(&wanted.at(commit), &context.home, settings, progress).await?;
            Ok(Checkout { reference: wanted.clone(), chosen: tag.map(str::to_owned), ..found })
        }
        None => checkout(wanted, &context.home, settings, progress).await,
    }
}

/// Whoever leaves out the `./` of a directory is told so.
fn refused(wanted: &Github, is_asked: bool, error: GithubError, context: &SourceContext) -> SourceError {
    let path = wanted.to_string().replace("//", "/");
    let beside = (is_asked && context.cwd.join(&path).is_dir()).then_some(path);
    SourceError::Github { error: Box::new(error), beside }
}
