//! The readers of a registry's documents for those who try them with any bytes: no part of the interface.

use reqwest::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};

use crate::oci::{ImageFile, Manifest, write_config};
use crate::registry::Challenge;
use crate::{Digest, ImageConfig};

/// Reads a manifest or an index. Returns the digests of what it points at, and the document written again.
pub fn manifest(bytes: &[u8]) -> Result<(Vec<Option<Digest>>, Vec<u8>), String> {
    let (descriptors, written) = match Manifest::read(bytes)? {
        Manifest::Image(image) => {
            let written = serde_json::to_vec(&image);
            (std::iter::once(image.config).chain(image.layers).collect::<Vec<_>>(), written)
        }
        Manifest::Index(index) => {
            let written = serde_json::to_vec(&index);
            (index.manifests, written)
        }
    };
    let digests = descriptors.iter().map(|descriptor| descriptor.digest()).collect();
    Ok((digests, written.map_err(|error| error.to_string())?))
}

/// Reads an image's configuration, and the digests of its layers.
pub fn config(bytes: &[u8]) -> Result<(ImageConfig, Vec<Digest>), String> {
    let file = ImageFile::read(bytes)?;
    Ok((file.to_config(), file.diff_ids().to_vec()))
}

/// Writes what [`config`] reads.
pub fn write(config: &ImageConfig, diff_ids: &[Digest]) -> Vec<u8> {
    write_config(config, diff_ids, "1970-01-01T00:00:00Z")
}

/// Reads what a registry asks for with a 401: the address, the service and the scope of its tokens; none of them
/// where it asks for a password.
pub fn challenge(header: &[u8]) -> Option<[Option<String>; 3]> {
    let headers = HeaderMap::from_iter([(WWW_AUTHENTICATE, HeaderValue::from_bytes(header).ok()?)]);
    Some(match Challenge::find(&headers)? {
        Challenge::Basic => [None, None, None],
        Challenge::Bearer { realm, service, scope } => [Some(realm), service, scope],
    })
}
