//! The step before resolving that may leave this machine.
//!
//! Resolving is a loop over files, and stays one: where it comes to a repository that is not at hand it says so,
//! and that repository is fetched and the loop begun anew. A lineage is short and reading it takes microseconds;
//! so the network is here alone, waits like everything else that waits, and can be interrupted.

use abx_core::Progress;
use abx_reference::{Github, Reference};

use crate::github::{GithubError, GithubSettings, checkout};
use crate::{SourceContext, SourceError, resolve};

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
    let mut context = context.clone();
    while let Err(error) = resolve(text, &context) {
        let Some(wanted) = error.wanted().cloned() else { break };
        match checkout(&wanted, &context.home, settings, progress).await {
            Ok(found) => context.checkouts.push(found),
            Err(reason) => {
                let is_asked =
                    matches!(Reference::parse(text), Ok(Reference::Github(asked)) if asked == wanted);
                return Err(error.because(refused(&wanted, is_asked, reason, &context)));
            }
        }
    }
    Ok(context)
}

/// Has what the reference itself names on disk, for [`leaf`](crate::leaf); nothing it inherits from.
pub async fn fetch_leaf(
    reference: &Reference,
    context: &SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<SourceContext, SourceError> {
    let mut context = context.clone();
    if let Reference::Github(wanted) = reference {
        let found = checkout(wanted, &context.home, settings, progress).await;
        context.checkouts.push(found.map_err(|reason| refused(wanted, true, reason, &context))?);
    }
    Ok(context)
}

/// Whoever leaves out the `./` of a directory is told so.
fn refused(wanted: &Github, is_asked: bool, error: GithubError, context: &SourceContext) -> SourceError {
    let path = wanted.to_string().replace("//", "/");
    let beside = (is_asked && context.cwd.join(&path).is_dir()).then_some(path);
    SourceError::Github { error: Box::new(error), beside }
}
