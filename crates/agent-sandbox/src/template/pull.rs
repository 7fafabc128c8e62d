//! A template, and the image it starts from, to this machine.

use abx_core::{Event, Progress};
use abx_reference::{Reference, Registry};
use abx_source::{SourceContext, SourceError};
use serde::Serialize;

use crate::{Context, Error, FetchOptions};

/// What is on this machine now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PulledTemplate {
    /// The local name it was given, `app:1.2.0`: an image of a registry gets one.
    pub name: Option<String>,
    /// The id of the image, or of that at the bottom of the lineage.
    pub image: String,
    /// What the reference stood for.
    pub canonical: String,
    pub digest: Option<String>,
}

/// Has on this machine what `create` of the reference fetches. An image of a registry is whole then, and gets a local
/// name: that of its repository, or `name`. Of any other template it is its files, those of its ancestors, and the
/// image at the bottom; the steps of the lineage are left to the first build.
///
/// # Errors
/// Whatever is not to be had; no name changes then.
pub async fn pull(
    context: &Context,
    reference: &str,
    name: Option<&str>,
    options: &FetchOptions,
    progress: &dyn Progress,
) -> Result<PulledTemplate, Error> {
    name.map(|name| abx_source::check_local_name(name, "latest")).transpose()?;
    abx_isolate::require_root()?;
    let _in_use = context.look_at_store().await;
    let parsed = Reference::parse(reference).map_err(SourceError::from)?;
    let source = super::fetch(context, reference, options, progress).await?;
    let lineage = abx_source::resolve(reference, &source)?;
    let _made = context.make_store().await?;
    let store = context.store();
    let image = crate::base_image::base_image(context, &store, &lineage, options, progress).await?;
    let resolved = super::resolve(context, reference, options, progress).await?;
    let local = match &parsed {
        Reference::Registry(asked) => {
            let (name, tag) = local_name(asked, name, &source);
            // The specification before the tag: a name that can be found has both.
            abx_source::keep(&context.home, &name, &tag, &lineage)?;
            store.tag(&name, &tag, &image.id)?;
            if abx_source::builtins().iter().any(|builtin| builtin.name == name) {
                let text = format!("`{name}` is a built-in template, which goes before: give another --name");
                progress.event(Event::Warning(text));
            }
            Some(format!("{name}:{tag}"))
        }
        _ => None,
    };
    store.sync_later(&context.exe);
    Ok(PulledTemplate {
        name: local,
        image: image.id.0,
        canonical: resolved.canonical,
        digest: resolved.digest,
    })
}

/// The last component of the repository, and the tag that was asked for or is the highest of a range.
fn local_name(asked: &Registry, name: Option<&str>, source: &SourceContext) -> (String, String) {
    let found = source.images.iter().find(|found| found.serves(asked));
    let tag = asked.tag().or_else(|| found?.tag.as_deref()).unwrap_or("latest");
    let path = asked.repository();
    let name = name.unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path));
    (name.to_owned(), tag.to_owned())
}
