//! Tags, as the two lists of them show them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::registry::Request;
use crate::registry::http::Response;

/// The most tags on a page.
const PAGE: usize = 100;

/// The tags of a repository.
#[derive(Debug, Default)]
pub(super) struct Tags {
    tags: BTreeMap<String, Tag>,
}

#[derive(Debug)]
struct Tag {
    commit: String,
    /// The id of the tag's own object, where it has one.
    object: Option<String>,
}

impl Tags {
    pub(super) fn put(&mut self, name: &str, commit: &str, is_annotated: bool) {
        let object = is_annotated.then(|| object_of(name));
        self.tags.insert(name.to_owned(), Tag { commit: commit.to_owned(), object });
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.tags.remove(name);
    }

    /// `tags?per_page=…&page=…`, the highest name first, with `Link` where there is more than one page.
    pub(super) fn page(&self, request: &Request, address: &str) -> Response {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let number = |key: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let size = number("per_page").unwrap_or(30).clamp(1, PAGE);
        let page = number("page").unwrap_or(1).max(1);
        let last = self.tags.len().div_ceil(size);
        let listed: Vec<Value> = self
            .tags
            .iter()
            .rev()
            .skip((page - 1) * size)
            .take(size)
            .map(|(name, tag)| json!({ "name": name, "commit": { "sha": tag.commit } }))
            .collect();
        let mut response = conditional(request, &Value::from(listed));
        if page < last {
            let link = |page: usize, relation: &str| {
                format!("<http://{address}{path}?per_page={size}&page={page}>; rel=\"{relation}\"")
            };
            response.set("Link", format!("{}, {}", link(page + 1, "next"), link(last, "last")));
        }
        response
    }

    /// `git/matching-refs/tags`: all of them, as refs.
    pub(super) fn matching(&self, request: &Request) -> Response {
        let listed: Vec<Value> = self
            .tags
            .iter()
            .map(|(name, tag)| {
                let object = match &tag.object {
                    Some(object) => json!({ "type": "tag", "sha": object }),
                    None => json!({ "type": "commit", "sha": tag.commit }),
                };
                json!({ "ref": format!("refs/tags/{name}"), "object": object })
            })
            .collect();
        conditional(request, &Value::from(listed))
    }

    /// `git/tags/SHA`: what the object of an annotated tag points at.
    pub(super) fn object(&self, sha: &str) -> Option<Response> {
        let tag = self.tags.values().find(|tag| tag.object.as_deref() == Some(sha))?;
        let body = json!({ "sha": sha, "object": { "type": "commit", "sha": tag.commit } });
        Some(Response::new(200).with_body(body.to_string()))
    }
}

/// The body, or 304 where the client has it already.
fn conditional(request: &Request, body: &Value) -> Response {
    let body = body.to_string();
    let etag = format!("W/\"{:016x}\"", checksum(&body));
    if request.header("if-none-match") == Some(&etag) {
        return Response::new(304).with("ETag", etag);
    }
    Response::new(200).with("ETag", etag).with_body(body)
}

fn object_of(name: &str) -> String {
    format!("{:016x}{:024x}", checksum(name), name.len())
}

fn checksum(text: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
