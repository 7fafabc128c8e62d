//! A reference with its selector apart: `create owner/repo --tag v1.2.0`.

use crate::{Reference, ReferenceError};

/// Why a tag cannot be put to a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// The reference, or what it becomes, is malformed.
    #[error(transparent)]
    Malformed(#[from] ReferenceError),
    #[error("`{text}` is a directory, which has no tags")]
    Directory { text: String },
    #[error("`{text}` says `{own}` already, which is not `{tag}`")]
    Clash { text: String, own: String, tag: String },
}

/// `text` with `tag` behind it, in the spelling its form has. A reference that says the same already is left as it is.
pub fn tagged(text: &str, tag: &str) -> Result<Reference, TagError> {
    let reference = Reference::parse(text)?;
    let (own, separator) = match &reference {
        Reference::Local(_) => return Err(TagError::Directory { text: text.to_owned() }),
        Reference::Github(github) => (github.git_ref().map(ToString::to_string), '@'),
        Reference::Name(_) => (text.split_once(':').map(|(_, own)| own.to_owned()), ':'),
        Reference::Registry(_) => (own_of_image(text), ':'),
    };
    match own {
        Some(own) if own == tag => Ok(reference),
        Some(own) => Err(TagError::Clash { text: text.to_owned(), own, tag: tag.to_owned() }),
        None => Ok(Reference::parse(&format!("{reference}{separator}{tag}"))?),
    }
}

/// Tag and digest of an image: what follows the `:` or `@` of its last component.
fn own_of_image(text: &str) -> Option<String> {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.find([':', '@']).map(|at| name[at + 1..].to_owned())
}
