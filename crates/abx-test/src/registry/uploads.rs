//! The push side: uploads in one piece or in chunks, mounts, manifests.

use std::collections::HashMap;

use super::http::{Request, Response};
use super::{State, digest};

/// Uploads under way, by number.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    begun: usize,
    open: HashMap<String, Vec<u8>>,
}

impl Uploads {
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }
}

pub(super) fn answer(state: &mut State, request: &Request, may_mount: bool) -> Response {
    let path = request.path.split('?').next().unwrap_or_default();
    let Some(path) = path.strip_prefix("/v2/") else { return Response::new(404) };
    if let Some((repository, reference)) = path.split_once("/manifests/") {
        return put_manifest(state, request, repository, reference);
    }
    let Some((repository, id)) = path.split_once("/blobs/uploads/") else { return Response::new(405) };
    match request.method.as_str() {
        "POST" => begin(state, request, repository, may_mount),
        "PATCH" => patch(state, request, repository, id),
        "PUT" => finish(state, request, id),
        "GET" if state.uploads.open.contains_key(id) => status(state, repository, id, 204),
        "DELETE" if state.uploads.open.remove(id).is_some() => Response::new(204),
        _ => Response::new(404),
    }
}

fn begin(state: &mut State, request: &Request, repository: &str, may_mount: bool) -> Response {
    let mount = request.query("mount").filter(|digest| may_mount && state.blobs.contains_key(digest));
    if let Some(digest) = mount {
        return Response::new(201).with("Docker-Content-Digest", digest);
    }
    state.uploads.begun += 1;
    let id = state.uploads.begun.to_string();
    state.uploads.open.insert(id.clone(), Vec::new());
    status(state, repository, &id, 202)
}

fn patch(state: &mut State, request: &Request, repository: &str, id: &str) -> Response {
    let Some(upload) = state.uploads.open.get_mut(id) else { return Response::new(404) };
    let begin = request.header("content-range").and_then(|range| range.split('-').next()?.parse().ok());
    if begin.is_some_and(|begin: usize| begin != upload.len()) {
        return Response::new(416);
    }
    upload.extend_from_slice(&request.body);
    status(state, repository, id, 202)
}

fn finish(state: &mut State, request: &Request, id: &str) -> Response {
    let Some(mut blob) = state.uploads.open.remove(id) else { return Response::new(404) };
    blob.extend_from_slice(&request.body);
    let found = digest(&blob);
    if request.query("digest").as_ref() != Some(&found) {
        return Response::new(400);
    }
    state.blobs.insert(found.clone(), blob);
    Response::new(201).with("Docker-Content-Digest", found)
}

fn status(state: &State, repository: &str, id: &str, status: u16) -> Response {
    let size = state.uploads.open[id].len();
    Response::new(status)
        .with("Location", format!("/v2/{repository}/blobs/uploads/{id}?state=secret"))
        .with("Range", format!("0-{}", size.saturating_sub(1)))
}

/// A manifest must name blobs that are there.
fn put_manifest(state: &mut State, request: &Request, repository: &str, reference: &str) -> Response {
    let Ok(manifest) = serde_json::from_slice::<serde_json::Value>(&request.body) else {
        return Response::new(400);
    };
    let layers = manifest["layers"].as_array().cloned().unwrap_or_default();
    let named = layers.iter().chain([&manifest["config"]]).filter_map(|blob| blob["digest"].as_str());
    if named.into_iter().any(|digest| !state.blobs.contains_key(digest)) {
        return Response::new(400);
    }
    let found = digest(&request.body);
    let media_type = request.header("content-type").cloned().unwrap_or_default();
    for reference in [reference, &found] {
        let entry = (media_type.clone(), request.body.clone());
        state.manifests.insert(format!("{repository}/{reference}"), entry);
    }
    Response::new(201).with("Docker-Content-Digest", found)
}
