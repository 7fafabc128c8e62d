//! The tags of a repository.

use serde_json::json;

use super::http::{Request, Response};

/// Tags in an answer, however many are asked for.
const PAGE: usize = 100;

/// A page of the tags, with a link to the next one.
pub(super) fn page<'k>(
    keys: impl Iterator<Item = &'k String>,
    repository: &str,
    request: &Request,
) -> Response {
    let prefix = format!("{repository}/");
    let names = keys.filter_map(|key| key.strip_prefix(&prefix));
    let mut names: Vec<_> = names.filter(|name| !name.contains([':', '/'])).collect();
    names.sort_unstable();
    if names.is_empty() {
        return Response::new(404);
    }
    let last = request.query("last").unwrap_or_default();
    let asked = request.query("n").and_then(|n| n.parse().ok()).unwrap_or(PAGE);
    let rest: Vec<_> = names.into_iter().filter(|name| *name > last.as_str()).collect();
    let page = &rest[..rest.len().min(asked.min(PAGE))];
    let body = json!({ "name": repository, "tags": page }).to_string();
    let response = Response::new(200).with_body(body);
    match page.last().filter(|_| page.len() < rest.len()) {
        Some(last) => {
            let next = format!("</v2/{repository}/tags/list?n={asked}&last={last}>; rel=\"next\"");
            response.with("Link", next)
        }
        None => response,
    }
}
