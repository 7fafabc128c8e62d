//! A container registry on the loopback, which can also misbehave.
//!
//! It speaks the distribution protocol over plain HTTP, one request a connection, and keeps everything in memory.
//! Each [`Trick`] is bound to a part of the request's `METHOD /path` and wears off after a number of requests.

pub(crate) mod http;
mod login;
mod tags;
mod uploads;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::loopback::{Loopback, lock};
pub use http::Request;
use http::Response;
pub use login::Login;
use uploads::Uploads;

/// A way to misbehave.
#[derive(Clone, Debug)]
pub enum Trick {
    /// Promise the whole body, close after so many bytes of it.
    CutAfter(usize),
    /// Change one byte in the middle.
    Corrupt,
    /// Send so many bytes more than there are, and say so in `Content-Length`.
    Lengthen(usize),
    /// Answer with this status.
    Status(u16),
    /// Answer with another `Docker-Content-Digest`.
    LieAboutDigest,
    /// Send the client to the same path at this base address.
    Redirect(String),
    /// Send everything although a range was asked for.
    IgnoreRange,
    /// Take so many bytes of the body, then hang up without an answer.
    TakeOnly(usize),
    /// Do as asked, then hang up without an answer.
    HangUp,
    /// Answer with another `Range`.
    LieAboutRange(String),
    /// Send the client elsewhere by `Location`: the base address before the path.
    Relocate(String),
    /// Begin an upload where a mount was asked for.
    RefuseMount,
}

/// A running registry; dropping it stops it.
#[derive(Debug)]
pub struct LoopbackRegistry {
    server: Loopback<State>,
}

#[derive(Debug, Default)]
struct State {
    blobs: HashMap<String, Vec<u8>>,
    /// By `repository/reference`: media type and bytes.
    manifests: HashMap<String, (String, Vec<u8>)>,
    tricks: Vec<(String, Trick, usize)>,
    login: Option<Login>,
    /// How often tokens have run out.
    expired: usize,
    /// After which request they do so next.
    expiring: Option<String>,
    uploads: Uploads,
    requests: Vec<Request>,
}

impl LoopbackRegistry {
    /// Starts an empty one on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self { server: Loopback::start(serve) }
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        self.server.address.to_string()
    }

    /// Adds a blob and returns its digest.
    pub fn put_blob(&self, bytes: impl Into<Vec<u8>>) -> String {
        let bytes = bytes.into();
        let digest = digest(&bytes);
        self.state().blobs.insert(digest.clone(), bytes);
        digest
    }

    /// Adds a manifest under a tag and under its digest, which it returns.
    pub fn put_manifest(&self, repository: &str, tag: &str, media_type: &str, manifest: &Value) -> String {
        let bytes = manifest.to_string().into_bytes();
        let digest = digest(&bytes);
        for reference in [tag, &digest] {
            let entry = (media_type.to_owned(), bytes.clone());
            self.state().manifests.insert(format!("{repository}/{reference}"), entry);
        }
        digest
    }

    /// Adds an image of layers given as (media type, blob, digest of the uncompressed blob), and returns its
    /// descriptor for an index.
    pub fn put_image(
        &self,
        repository: &str,
        tag: &str,
        config: &Value,
        layers: &[(&str, &[u8], String)],
    ) -> Value {
        let mut config = config.clone();
        let diff_ids: Vec<_> = layers.iter().map(|(_, _, diff_id)| diff_id).collect();
        config["rootfs"] = json!({ "type": "layers", "diff_ids": diff_ids });
        let config = config.to_string().into_bytes();
        let descriptor = |media_type: &str, bytes: &[u8]| {
            let digest = self.put_blob(bytes);
            json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
        };
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type,
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": layers.iter().map(|(kind, blob, _)| descriptor(kind, blob)).collect::<Vec<_>>(),
        });
        let digest = self.put_manifest(repository, tag, media_type, &manifest);
        json!({ "mediaType": media_type, "digest": digest, "size": manifest.to_string().len() })
    }

    /// Plays a trick on the next `times` requests whose `METHOD /path` contains `path`.
    pub fn play(&self, path: impl Into<String>, trick: Trick, times: usize) {
        self.state().tricks.push((path.into(), trick, times));
    }

    /// Wants a log-in from now on.
    pub fn require(&self, login: Login) {
        self.state().login = Some(login);
    }

    /// Lets all tokens handed out so far run out after the next request whose `METHOD /path` contains `path`.
    pub fn expire_tokens_after(&self, path: impl Into<String>) {
        self.state().expiring = Some(path.into());
    }

    /// A blob that is there.
    pub fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        self.state().blobs.get(digest).cloned()
    }

    /// The manifest under a tag or digest.
    pub fn manifest(&self, repository: &str, reference: &str) -> Option<Value> {
        let state = self.state();
        let (_, bytes) = state.manifests.get(&format!("{repository}/{reference}"))?;
        serde_json::from_slice(bytes).ok()
    }

    /// Uploads that were begun and neither finished nor given up.
    pub fn open_uploads(&self) -> usize {
        self.state().uploads.open()
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.server.state()
    }
}

/// `sha256:…` of some bytes.
pub fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn serve(mut stream: TcpStream, address: SocketAddr, state: &Mutex<State>) {
    let mut trick = None;
    let limit = |request: &Request| {
        trick = lock(state).trick(&format!("{} {}", request.method, request.path));
        match trick {
            Some(Trick::TakeOnly(bytes)) => Some(bytes),
            _ => None,
        }
    };
    let Some(request) = Request::read_within(&mut stream, limit) else { return };
    let is_silent = matches!(trick, Some(Trick::TakeOnly(_) | Trick::HangUp));
    let (mut response, cut) = {
        let mut state = lock(state);
        state.requests.push(request.clone());
        let answer = state.answer(&request, address, trick);
        let line = format!("{} {}", request.method, request.path);
        if state.expiring.take_if(|part| line.contains(part.as_str())).is_some() {
            state.expired += 1;
        }
        answer
    };
    if is_silent {
        return;
    }
    if request.method == "HEAD" {
        response.is_headless = true;
    }
    // A client that hangs up early is its own business.
    let _ = response.write(&mut stream, cut);
}

impl State {
    fn trick(&mut self, path: &str) -> Option<Trick> {
        let found =
            self.tricks.iter_mut().find(|(part, _, times)| *times > 0 && path.contains(part.as_str()))?;
        found.2 -= 1;
        Some(found.1.clone())
    }

    /// The answer, and after how many bytes of its body to hang up.
    fn answer(
        &mut self,
        request: &Request,
        address: SocketAddr,
        trick: Option<Trick>,
    ) -> (Response, Option<usize>) {
        match &trick {
            Some(Trick::Status(status)) => {
                let body = json!({ "errors": [{ "code": "TRICK", "message": "as told" }] });
                return (Response::new(*status).with_body(body.to_string()), None);
            }
            Some(Trick::Redirect(base)) => {
                let location = format!("{base}{}", request.path);
                return (Response::new(307).with("Location", location), None);
            }
            _ => {}
        }
        if request.path.starts_with("/token") {
            return (login::token(self.login.as_ref(), self.expired, request), None);
        }
        if let Some(refusal) = login::refusal(self.login.as_ref(), self.expired, request, address) {
            return (refusal, None);
        }
        let range = request.range_start().filter(|_| !matches!(trick, Some(Trick::IgnoreRange)));
        let may_mount = !matches!(trick, Some(Trick::RefuseMount));
        let mut response = match request.method.as_str() {
            "GET" | "HEAD" if !request.path.contains("/uploads/") => self.find(request, range),
            _ => uploads::answer(self, request, may_mount),
        };
        let mut cut = None;
        match trick {
            Some(Trick::CutAfter(bytes)) => cut = Some(bytes),
            Some(Trick::Corrupt) => {
                let middle = response.body.len() / 2;
                if let Some(byte) = response.body.get_mut(middle) {
                    *byte ^= 1;
                }
            }
            Some(Trick::Lengthen(bytes)) => response.body.extend(std::iter::repeat_n(b' ', bytes)),
            Some(Trick::LieAboutDigest) => response.set("Docker-Content-Digest", digest(b"a lie")),
            Some(Trick::LieAboutRange(range)) => response.set("Range", range),
            Some(Trick::Relocate(base)) => {
                let path = response.header("Location").unwrap_or_default().to_owned();
                response.set("Location", format!("{base}{path}"));
            }
            _ => {}
        }
        (response, cut)
    }

    fn find(&self, request: &Request, range: Option<usize>) -> Response {
        let path = request.path.split('?').next().unwrap_or_default();
        let Some(path) = path.strip_prefix("/v2/") else { return Response::new(404) };
        if let Some(repository) = path.strip_suffix("/tags/list") {
            return tags::page(self.manifests.keys(), repository, request);
        }
        if let Some((repository, reference)) = path.split_once("/manifests/") {
            let found = self.manifests.get(&format!("{repository}/{reference}"));
            return found.map_or(Response::new(404), |(media_type, bytes)| {
                let response =
                    Response::new(200).with_body(bytes.clone()).with("Content-Type", media_type.clone());
                response.with("Docker-Content-Digest", digest(bytes))
            });
        }
        let blob = path.split_once("/blobs/").and_then(|(_, digest)| self.blobs.get(digest));
        match (blob, range) {
            (None, _) => Response::new(404),
            (Some(blob), None) => Response::new(200).with_body(blob.clone()),
            (Some(blob), Some(start)) if start < blob.len() => {
                let range = format!("bytes {start}-{}/{}", blob.len() - 1, blob.len());
                Response::new(206).with_body(&blob[start..]).with("Content-Range", range)
            }
            (Some(_), Some(_)) => Response::new(416),
        }
    }
}
