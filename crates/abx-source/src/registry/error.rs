//! What can go wrong with an image that a reference names.

use abx_core::{Code, Fault};
use abx_image::ImageError;
use abx_reference::Registry;

/// Why an image of a registry came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Nobody has asked its registry yet: see [`fetch`](fn@crate::fetch).
    #[error("`{reference}` has not been looked up in its registry")]
    Unasked { reference: Registry },
    #[error("`{reference}` has not been pulled, and --offline keeps to this machine")]
    Offline { reference: Registry },
    #[error("the template in `{reference}` is damaged")]
    Lineage { reference: Registry, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(transparent)]
    Image(#[from] ImageError),
}

impl Fault for RegistryError {
    fn code(&self) -> Code {
        match self {
            Self::Unasked { .. } | Self::Offline { .. } => Code::Offline,
            Self::Lineage { .. } => Code::SpecInvalid,
            // A reference leads nowhere, as one to a repository that is not there.
            Self::Image(ImageError::NotFound { .. }) => Code::TemplateNotFound,
            Self::Image(error) => error.code(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unasked { .. } => Vec::new(),
            Self::Offline { reference } => vec![format!("run `abx template pull '{reference}'` once")],
            Self::Lineage { .. } => {
                vec!["push the template again; a newer abx may have made it, then update this one".into()]
            }
            Self::Image(error) => error.hints(),
        }
    }
}
