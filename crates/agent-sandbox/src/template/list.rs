//! What is at hand without a network.

use std::time::UNIX_EPOCH;

use abx_image::{ImageStore, Tag};
use serde::Serialize;

use super::info::{BuiltHere, newest_first};
use crate::{Context, Error};

/// A template and the image it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub name: String,
    pub tag: String,
    /// `built-in` or `local`.
    pub kind: &'static str,
    pub description: Option<String>,
    /// Image id; `None` for a built-in.
    pub image: Option<String>,
    /// Bytes on disk; `None` where it is not built here.
    pub size: Option<u64>,
    /// When it was built, or got its tag, in seconds since 1970.
    pub created: Option<u64>,
}

/// Built-in and local templates.
pub fn list(context: &Context) -> Result<Vec<Listed>, Error> {
    let store = context.store();
    let source = context.source();
    let mut listed = Vec::new();
    for package in abx_source::builtins() {
        listed.push(builtin(context, &store, &abx_source::resolve(package.name, &source)?, package.name)?);
    }
    let mut tags = store.list()?;
    tags.sort_by(|one, other| one.name.cmp(&other.name).then_with(|| newest_first(one, other)));
    for tag in tags {
        let reference = format!("{}:{}", tag.name, tag.tag);
        // A tag without its specification can still be run.
        let lineage = abx_source::resolve(&reference, &source).ok();
        let leaf = lineage.as_ref().and_then(abx_source::Lineage::leaf);
        let description = leaf.and_then(|package| package.spec.metadata.description.clone());
        listed.push(local(&store, tag, description)?);
    }
    Ok(listed)
}

fn builtin(
    context: &Context,
    store: &ImageStore,
    lineage: &abx_source::Lineage,
    name: &str,
) -> Result<Listed, Error> {
    let metadata = lineage.effective().metadata;
    let built = BuiltHere::of(context, lineage)?;
    Ok(Listed {
        name: name.to_owned(),
        tag: metadata.version,
        kind: "built-in",
        description: metadata.description,
        image: None,
        size: built.as_ref().map(|built| built.size(store)).transpose()?,
        created: built.map(|built| built.created(store)).transpose()?.flatten(),
    })
}

fn local(store: &ImageStore, tag: Tag, description: Option<String>) -> Result<Listed, Error> {
    let image = store.image(&tag.image)?;
    Ok(Listed {
        size: image.map(|image| store.image_size(&image)).transpose()?,
        created: tag.set.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs()),
        name: tag.name,
        tag: tag.tag,
        kind: "local",
        description,
        image: Some(tag.image.0),
    })
}
