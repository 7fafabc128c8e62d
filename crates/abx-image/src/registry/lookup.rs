//! What a name stands for, without fetching it.

use abx_core::Progress;

use super::client::client;
use super::endpoint::Endpoint;
use super::pull::locate;
use super::{Platform, RegistryName, RegistrySettings};
use crate::{Digest, ImageError, oci};

/// The digest that `name` stands for in its registry now: of its index where it has one, so that it holds on every
/// platform. `platform` has to be among those that are offered.
///
/// # Errors
/// Like [`pull`](super::pull()).
pub async fn lookup(
    name: &str,
    platform: &Platform,
    settings: &RegistrySettings,
    progress: &dyn Progress,
) -> Result<Digest, ImageError> {
    let parsed = RegistryName::parse(name)?;
    let (_, found) = locate(&client(settings)?, &parsed, platform, settings, progress).await?;
    Ok(found.digest)
}

/// What a name stands for, and what is written on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Of the index where there is one.
    pub digest: Digest,
    /// Of the image for the platform.
    pub annotations: Vec<(String, String)>,
}

/// [`lookup`] with the annotations of the image.
pub async fn describe(
    name: &RegistryName,
    platform: &Platform,
    settings: &RegistrySettings,
    progress: &dyn Progress,
) -> Result<Described, ImageError> {
    let (_, found) = locate(&client(settings)?, name, platform, settings, progress).await?;
    Ok(Described { digest: found.digest, annotations: found.annotations })
}

/// The digest that `name` stands for, as its mirror or its registry says: one question without an answer's body, where
/// that one knows how to answer it.
pub async fn digest(name: &RegistryName, settings: &RegistrySettings) -> Result<Digest, ImageError> {
    let mut endpoints = Endpoint::all(&client(settings)?, name, settings)?.into_iter().peekable();
    loop {
        let endpoint = endpoints.next().expect("the registry itself is always one");
        match digest_at(&endpoint, name).await {
            Err(_) if endpoints.peek().is_some() => {}
            digest => return digest,
        }
    }
}

async fn digest_at(endpoint: &Endpoint, name: &RegistryName) -> Result<Digest, ImageError> {
    let path = format!("manifests/{}", name.wanted());
    let Some(headers) = endpoint.head(&path, oci::MANIFESTS).await? else {
        let (host, subject) = (endpoint.host().to_owned(), name.to_string());
        return Err(ImageError::NotFound { host, subject });
    };
    let named = headers.get("docker-content-digest").and_then(|value| value.to_str().ok());
    if let Some(digest) = named.and_then(Digest::parse) {
        return Ok(digest);
    }
    let (_, body) = endpoint.read(&path, oci::MANIFESTS).await?;
    Ok(Digest::of(&body))
}
