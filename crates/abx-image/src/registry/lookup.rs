//! What a name stands for, without fetching it.

use abx_core::Progress;

use super::client::client;
use super::pull::locate;
use super::{Platform, RegistryName, RegistrySettings};
use crate::{Digest, ImageError};

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
