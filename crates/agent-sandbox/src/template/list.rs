//! What is at hand without a network.

use serde::Serialize;

use crate::{Context, Error};

/// A local template: `name:tag` and the image it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    pub name: String,
    pub tag: String,
    /// `built-in` or `local`.
    pub kind: &'static str,
    pub description: Option<String>,
    /// Image id; `None` for a built-in that has not been built here.
    pub image: Option<String>,
}

/// Built-in and local templates.
pub fn list(context: &Context) -> Result<Vec<Listed>, Error> {
    let builtin = |package: &abx_source::Builtin| {
        let text = package.file("template.yaml").map(|file| String::from_utf8_lossy(file.content));
        let parsed = text.and_then(|text| abx_spec::parse(&text, package.name).ok());
        let metadata = parsed.map(|parsed| parsed.spec.metadata);
        Listed {
            name: package.name.to_owned(),
            tag: metadata.as_ref().map(|metadata| metadata.version.clone()).unwrap_or_default(),
            kind: "built-in",
            description: metadata.and_then(|metadata| metadata.description),
            image: None,
        }
    };
    let local = |tag: abx_image::Tag| Listed {
        name: tag.name,
        tag: tag.tag,
        kind: "local",
        description: None,
        image: Some(tag.image.0),
    };
    let mut listed: Vec<Listed> = abx_source::builtins().iter().map(builtin).collect();
    listed.extend(context.store().list()?.into_iter().map(local));
    Ok(listed)
}
