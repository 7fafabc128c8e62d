//! Which tags a repository has.

use std::collections::BTreeSet;

use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;

use super::client::client;
use super::endpoint::Endpoint;
use super::{RegistryName, RegistrySettings};
use crate::ImageError;

/// Tags asked for at a time. Registries give fewer where they like.
const PAGE: usize = 1000;

/// A repository may have so many; whoever lists more is not waited for.
const LIMIT: usize = 100_000;

#[derive(Deserialize)]
struct Page {
    /// `null` where there are none.
    tags: Option<Vec<String>>,
}

/// Every tag of the name's repository, in order. The registry itself is asked first: a mirror may know fewer, but is
/// all there is where the registry is out of reach.
pub async fn tags(name: &RegistryName, settings: &RegistrySettings) -> Result<Vec<String>, ImageError> {
    let mut endpoints = Endpoint::all(&client(settings)?, name, settings)?.into_iter().rev();
    let registry = endpoints.next().expect("the registry itself is always one");
    match (of(&registry).await, endpoints.next()) {
        (Err(error), Some(mirror)) if error.is_unreachable() => of(&mirror).await.map_err(|_| error),
        (tags, _) => tags,
    }
}

async fn of(endpoint: &Endpoint) -> Result<Vec<String>, ImageError> {
    let mut tags = BTreeSet::new();
    let mut url = endpoint.url("tags/list");
    url.query_pairs_mut().append_pair("n", &PAGE.to_string());
    loop {
        let (headers, body) = endpoint.read_url(&url, "application/json").await?;
        let malformed = |error: serde_json::Error| ImageError::Manifest {
            subject: format!("the tags of {}", endpoint.place()),
            reason: error.to_string(),
        };
        let page: Page = serde_json::from_slice(&body).map_err(malformed)?;
        let known = tags.len();
        tags.extend(page.tags.unwrap_or_default());
        let Some(next) = next(&headers, &url, endpoint)? else { break };
        // One that goes round in circles ends too.
        if tags.len() == known || tags.len() >= LIMIT {
            break;
        }
        url = next;
    }
    Ok(tags.into_iter().collect())
}

/// The address of the next page: `<…>; rel="next"`.
fn next(headers: &HeaderMap, url: &Url, endpoint: &Endpoint) -> Result<Option<Url>, ImageError> {
    let links = headers.get_all(LINK).iter().filter_map(|link| link.to_str().ok());
    let next = links.flat_map(|links| links.split(',')).find_map(|link| {
        let (address, relation) = link.trim().strip_prefix('<')?.split_once('>')?;
        relation.contains("next").then_some(address)
    });
    next.map(|address| endpoint.follow(address, url)).transpose()
}
