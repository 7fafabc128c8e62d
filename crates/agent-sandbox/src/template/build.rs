//! Lineage in, image out.

mod dockerfile;
pub(crate) mod remembered;
mod secret;
mod verify;

use abx_build::{BuildSecret, Builder, Built};
use abx_core::{Event, Progress};
use abx_source::{DockerfileOptions, Lineage};
use serde::Serialize;

pub use secret::{SecretPlace, SecretSource};

use crate::{Context, Error, FetchOptions};

/// What to build, and how.
#[derive(Clone, Debug, Default)]
pub struct BuildRequest {
    /// Any spelling of a template reference.
    pub reference: String,
    /// The local template's name; its own where absent.
    pub name: Option<String>,
    /// `latest` where absent.
    pub tag: Option<String>,
    /// Values for arguments of the Dockerfile.
    pub build_args: Vec<(String, String)>,
    /// What its steps may read while they run, and nobody afterwards.
    pub secrets: Vec<BuildSecret>,
    /// The stage of the Dockerfile that becomes the image; the last one where absent.
    pub target: Option<String>,
    /// `linux/amd64`: what the image is for, which is this host or a fault.
    pub platform: Option<String>,
    /// Builds a second time, with nothing from the cache, and compares.
    pub verify: bool,
}

/// A template that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BuiltTemplate {
    /// The image's id.
    pub image: String,
    /// What it is called here.
    pub name: String,
    pub tag: String,
    /// That it came to the same image twice; `None` where it was built once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproducible: Option<bool>,
}

/// A built lineage, which knows now what its Dockerfiles say of the sandbox.
#[derive(Clone, Debug)]
pub(crate) struct BuiltLineage {
    pub(crate) built: Built,
    pub(crate) lineage: Lineage,
}

/// Builds a template and gives the result a local name.
///
/// # Errors
/// Whatever the failing stage reports. Finished steps are kept.
pub async fn build(
    context: &Context,
    request: &BuildRequest,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<BuiltTemplate, Error> {
    let tag = request.tag.as_deref().unwrap_or("latest");
    // Before the long work, not after it.
    request.name.as_ref().map(|name| abx_source::check_local_name(name, tag)).transpose()?;
    request.platform.as_deref().map(check_platform).transpose()?;
    let _in_use = context.look_at_store().await;
    let mut context = context.clone();
    context.dockerfile = DockerfileOptions {
        name: request.name.clone(),
        arguments: request.build_args.clone(),
        target: request.target.clone(),
    };
    let lineage = super::lineage(&context, &request.reference, options, progress).await?;
    warn_of_unused(&lineage, request, progress);
    let _made = context.make_store().await?;
    let how = How { secrets: &request.secrets, is_anew: options.no_cache };
    let mut made = build_with(&context, &lineage, how, options, progress).await?;
    if request.verify {
        let how = How { is_anew: true, ..how };
        let again = build_with(&context, &lineage, how, options, progress).await?;
        let template = &made.built.effective.metadata.name;
        verify::compare(&context, template, &made.built.image, &again.built.image)?;
        // Later builds find these layers.
        made = again;
    }
    let name = request.name.as_deref().unwrap_or(&made.built.effective.metadata.name);
    // The specification before the tag: a name that can be found has both.
    abx_source::keep(&context.home, name, tag, &made.lineage)?;
    context.store().tag(name, tag, &made.built.image.id)?;
    Ok(BuiltTemplate {
        name: name.to_owned(),
        tag: tag.to_owned(),
        image: made.built.image.id.0,
        reproducible: request.verify.then_some(true),
    })
}

/// An image is built by running its steps, so for the host's own kind of processor alone.
fn check_platform(wanted: &str) -> Result<(), Error> {
    let host = abx_image::Platform::host().to_string();
    let meant = abx_dockerfile::Platform::parse(wanted);
    if meant.is_some() && meant == abx_dockerfile::Platform::parse(&host) {
        return Ok(());
    }
    Err(Error::Platform { wanted: wanted.to_owned(), host })
}

/// Options for a Dockerfile mean nothing to a template without one.
fn warn_of_unused(lineage: &Lineage, request: &BuildRequest, progress: &dyn Progress) {
    if lineage.leaf().is_some_and(|leaf| leaf.dockerfile.is_some()) {
        return;
    }
    let given = [
        ("--build-arg", !request.build_args.is_empty()),
        ("--secret", !request.secrets.is_empty()),
        ("--target", request.target.is_some()),
    ];
    for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        let text = format!("{option} is for a Dockerfile, and {} has none", request.reference);
        progress.event(Event::Warning(text));
    }
}

/// Gets the base image and builds every step on it.
pub(crate) async fn build_lineage(
    context: &Context,
    lineage: &Lineage,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<BuiltLineage, Error> {
    let how = How { secrets: &[], is_anew: options.no_cache };
    build_with(context, lineage, how, options, progress).await
}

/// What is peculiar to one build.
#[derive(Clone, Copy)]
struct How<'a> {
    /// For the Dockerfile of the template itself.
    secrets: &'a [BuildSecret],
    /// Makes every step anew.
    is_anew: bool,
}

/// [`build_lineage`] in its own way.
async fn build_with(
    context: &Context,
    lineage: &Lineage,
    how: How<'_>,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<BuiltLineage, Error> {
    // Before a byte is fetched for nothing.
    abx_isolate::require_root()?;
    // A store whose mode cannot be changed cannot be written to either.
    let _ = context.home.keep_store_private();
    let store = context.store();
    let builder = Builder {
        store: store.clone(),
        home: context.home.clone(),
        host: context.host.clone(),
        exe: context.exe.clone(),
        no_cache: how.is_anew,
        offline: options.offline,
        limits: abx_build::Limits::default(),
    };
    let defined = lineage.packages.iter().rposition(|package| package.dockerfile.is_some());
    let made = match defined {
        None => {
            let base = crate::base_image::base_image(context, &store, lineage, options, progress).await?;
            let built = builder.build(lineage, base, progress).await?;
            BuiltLineage { built, lineage: lineage.clone() }
        }
        Some(at) => {
            let is_own = at + 1 == lineage.packages.len();
            let how = How { secrets: if is_own { how.secrets } else { &[] }, ..how };
            let ground = dockerfile::Ground { context, builder: &builder, how, options, progress };
            let made = ground.build(lineage, at).await?;
            remembered::remember(context, lineage, &made.built.image);
            made
        }
    };
    builder.store.touch_image(&made.built.image.id);
    Ok(made)
}
