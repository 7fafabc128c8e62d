//! The HTTP client of registries.

use reqwest::Client;
use reqwest::redirect::{Attempt, Policy};

use super::RegistrySettings;
use crate::{ImageError, http};

/// Redirects followed for one request.
const REDIRECTS: usize = 10;

/// The shared client, with redirects that never step down to plain HTTP. `reqwest` itself drops credentials
/// on the way to another host.
pub(super) fn client(settings: &RegistrySettings) -> Result<Client, ImageError> {
    let policy = Policy::custom(|attempt: Attempt<'_>| {
        let down = attempt.url().scheme() == "http"
            && attempt.previous().last().is_some_and(|previous| previous.scheme() == "https");
        match down || attempt.previous().len() > REDIRECTS {
            true => attempt.error("a redirect too many, or one to plain HTTP"),
            false => attempt.follow(),
        }
    });
    let client = http::builder(&settings.network)?.redirect(policy).build();
    client.map_err(|source| ImageError::Tls { source: source.into() })
}
