//! A local template to a registry.

use abx_core::Progress;
/// What a push that was dropped has left in the registry.
pub use abx_image::OpenUploads;
use abx_image::RegistryName;
use abx_reference::Reference;
use serde::Serialize;

use super::BuiltLineage;
use crate::{Context, Error, FetchOptions};

/// A template where others find it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PushedTemplate {
    /// `host/team/app:tag`.
    pub image: String,
    /// Of its manifest.
    pub digest: String,
    /// What to give to `create`, this year or next.
    pub canonical: String,
    /// Layers that had to be sent.
    pub layers_sent: usize,
    /// Bytes of those, compressed.
    pub bytes_sent: u64,
}

/// Pushes a template's image, with the template in it, to `destination`: an image's name with or without a scheme,
/// whose tag is the template's where it has none. Without a destination it goes where the settings say. Whoever drops
/// it should have `open` give up what was begun.
///
/// # Errors
/// E2001 where there is no such template; E2005 for a destination that is none; E1011 and E7022 where the registry
/// wants another log-in, or any; E7021 where the push fails.
pub async fn push(
    context: &Context,
    name: &str,
    destination: Option<&str>,
    open: &OpenUploads,
    progress: &dyn Progress,
) -> Result<PushedTemplate, Error> {
    let (local, tag) = name.split_once(':').unwrap_or((name, "latest"));
    // Before anything is built for nothing.
    let target = target(destination, local, tag, context.settings.push_to.as_deref())?;
    let reference = Reference::parse(name).map_err(abx_source::SourceError::from)?;
    if !matches!(reference, Reference::Name(_)) {
        return Err(Error::NoLocalTemplate { name: local.to_owned(), tag: tag.to_owned() });
    }
    let _in_use = context.look_at_store().await;
    let options = FetchOptions::default();
    let lineage = super::lineage(context, name, &options, progress).await?;
    let BuiltLineage { built, lineage } = super::build_lineage(context, &lineage, &options, progress).await?;
    let image = built.image;
    let mut annotations =
        vec![(abx_source::ANNOTATION.to_owned(), abx_source::kept::to_text(&lineage.packages))];
    // What registries show of an image.
    for key in ["title", "version", "description"].map(|part| format!("org.opencontainers.image.{part}")) {
        let value = image.config.label(&key).filter(|value| !value.is_empty()).map(str::to_owned);
        annotations.extend(value.map(|value| (key, value)));
    }
    let store = context.store_of(lineage.committed());
    let pushed =
        abx_image::push(&store, &image, &target, &annotations, &context.registries(), open, progress).await?;
    let digest = pushed.digest.to_string();
    Ok(PushedTemplate {
        image: target.familiar(),
        canonical: format!("acr://{}/{}:{}@{digest}", target.registry(), target.repository(), target.tag()),
        digest,
        layers_sent: pushed.sent,
        bytes_sent: pushed.bytes,
    })
}

/// The image's name a template is pushed under.
fn target(
    destination: Option<&str>,
    name: &str,
    tag: &str,
    push_to: Option<&str>,
) -> Result<RegistryName, Error> {
    let malformed = |text: &str, reason| Error::Destination { text: text.to_owned(), reason };
    let text = match (destination, push_to) {
        (Some(destination), _) => destination.to_owned(),
        (None, Some(place)) => format!("{}/{name}", place.trim_end_matches('/')),
        (None, None) => return Err(Error::NoDestination { name: format!("{name}:{tag}") }),
    };
    let image = match text.contains("://") {
        false => text.clone(),
        true => match Reference::parse(&text).map_err(abx_source::SourceError::from)? {
            Reference::Registry(image) if image.range().is_some() => {
                return Err(malformed(&text, "a range is no tag"));
            }
            Reference::Registry(image) => image.image(),
            _ => return Err(malformed(&text, "it is no image of a registry")),
        },
    };
    if !image.contains('/') {
        return Err(malformed(&text, "the registry's host is missing"));
    }
    let parsed = RegistryName::parse(&image)?;
    if parsed.digest().is_some() {
        return Err(malformed(&text, "a digest follows from the image, and cannot be chosen"));
    }
    let has_tag = image.rsplit('/').next().is_some_and(|last| last.contains(':'));
    if has_tag { Ok(parsed) } else { Ok(parsed.tagged(tag)?) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abx_core::Fault;

    #[test]
    fn a_destination_is_any_spelling_of_an_image() {
        let digest = format!("r.example/a@sha256:{}", "0a".repeat(32));
        for (destination, push_to, expected) in [
            (Some("acr://r.example/team/app:2"), None, "r.example/team/app:2"),
            (Some("acr://r.example/team/app"), None, "r.example/team/app:1.0"),
            (Some("r.example:5000/team/app"), None, "r.example:5000/team/app:1.0"),
            (Some("localhost/app:x"), Some("r.example/team"), "localhost/app:x"),
            (Some("docker://team/app"), None, "team/app:1.0"),
            (None, Some("r.example/team/"), "r.example/team/shop:1.0"),
        ] {
            let target = target(destination, "shop", "1.0", push_to).expect("a destination");
            assert_eq!(target.familiar(), expected);
        }
        for destination in [
            "app",
            "acr://app",
            "r.example/UPPER",
            &digest,
            "acr://r.example/app:^1",
            "./app",
            "",
            "s3://a/b",
        ] {
            let error = target(Some(destination), "shop", "1.0", None).expect_err(destination);
            assert_eq!(error.code().as_str(), "E2005", "{destination}: {error}");
        }
        let error = target(None, "shop", "1.0", None).expect_err("nowhere");
        assert!(error.hints()[0].contains("abx template push shop:1.0"), "{:?}", error.hints());
    }
}
