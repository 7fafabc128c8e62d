//! From a name to the manifest of one image.

use super::endpoint::Endpoint;
use super::{Platform, RegistryName};
use crate::oci::{self, Descriptor, Manifest};
use crate::{Digest, ImageError};

/// What the registry has under a name, for one platform.
pub(super) struct Found {
    /// Of what the name stands for: the index, where there is one.
    pub(super) digest: Digest,
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    /// Of the image's own manifest.
    pub(super) annotations: Vec<(String, String)>,
}

/// Asks one endpoint.
pub(super) async fn find(
    endpoint: &Endpoint,
    name: &RegistryName,
    platform: &Platform,
) -> Result<Found, ImageError> {
    let malformed = |reason: String| ImageError::Manifest { subject: name.to_string(), reason };
    let (digest, manifest) = read(endpoint, name, &name.wanted(), name.digest()).await?;
    let manifest = match manifest {
        Manifest::Image(image) => image,
        Manifest::Index(index) => {
            let chosen = choose(name, &index.manifests, platform)?;
            match read(endpoint, name, &chosen.to_string(), Some(&chosen)).await?.1 {
                Manifest::Image(image) => image,
                Manifest::Index(_) => return Err(malformed("an index within an index".to_owned())),
            }
        }
    };
    let annotations = manifest.annotations();
    Ok(Found { digest, config: manifest.config, layers: manifest.layers, annotations })
}

/// Reads a manifest and checks it against the digest asked for, or the one the registry names.
async fn read(
    endpoint: &Endpoint,
    name: &RegistryName,
    reference: &str,
    asked: Option<&Digest>,
) -> Result<(Digest, Manifest), ImageError> {
    let (headers, body) = endpoint.read(&format!("manifests/{reference}"), oci::MANIFESTS).await?;
    let found = Digest::of(&body);
    let named = headers.get("docker-content-digest").and_then(|value| value.to_str().ok());
    let expected = asked.map(Digest::to_string).or(named.map(str::to_owned));
    if let Some(expected) = expected.filter(|expected| *expected != found.to_string()) {
        let subject = format!("the manifest of {name}");
        return Err(ImageError::Digest { subject, expected, found: found.to_string() });
    }
    let manifest =
        Manifest::read(&body).map_err(|reason| ImageError::Manifest { subject: name.to_string(), reason })?;
    Ok((found, manifest))
}

/// The first image for the platform. Entries that say nothing of a platform (attestations) are no images.
fn choose(name: &RegistryName, manifests: &[Descriptor], platform: &Platform) -> Result<Digest, ImageError> {
    let images = || manifests.iter().filter_map(|entry| Some((entry, entry.platform()?)));
    let chosen = images().find(|(_, offered)| platform.takes(offered));
    match chosen {
        Some((entry, _)) => entry.digest().ok_or_else(|| ImageError::Manifest {
            subject: name.to_string(),
            reason: "a malformed digest".to_owned(),
        }),
        None => Err(ImageError::NoPlatform {
            name: name.to_string(),
            platform: platform.to_string(),
            offered: images().map(|(_, offered)| offered.to_string()).collect(),
        }),
    }
}
