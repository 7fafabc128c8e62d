//! A container registry on the loopback, which can also misbehave.
//!
//! It speaks the pull side of the distribution protocol over plain HTTP, one request a connection, and keeps
//! everything in memory. Each [`Trick`] is bound to a part of the request path and wears off after a number of
//! requests.

pub(crate) mod http;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::loopback::{Loopback, lock};
pub use http::Request;
use http::Response;

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
}

/// How a registry wants to be logged in to.
#[derive(Clone, Debug)]
pub enum Login {
    /// User and password with each request.
    Basic { user: String, password: String },
    /// A token from `/token`, for the given user and password only, or for anyone.
    Token { user: Option<(String, String)> },
}

/// What a token service of ours hands out.
const TOKEN: &str = "token-of-the-loopback-registry";

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

    /// Plays a trick on the next `times` requests whose path contains `path`.
    pub fn play(&self, path: impl Into<String>, trick: Trick, times: usize) {
        self.state().tricks.push((path.into(), trick, times));
    }

    /// Wants a log-in from now on.
    pub fn require(&self, login: Login) {
        self.state().login = Some(login);
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
    let Some(request) = Request::read(&mut stream) else { return };
    let (response, cut) = {
        let mut state = lock(state);
        state.requests.push(request.clone());
        let trick = state.trick(&request.path);
        state.answer(&request, address, trick)
    };
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
        &self,
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
        if request.path.starts_with("/token?") {
            return (self.token(request), None);
        }
        if let Some(refusal) = self.refusal(request, address) {
            return (refusal, None);
        }
        let range = request.range_start().filter(|_| !matches!(trick, Some(Trick::IgnoreRange)));
        let mut response = self.find(&request.path, range);
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
            _ => {}
        }
        (response, cut)
    }

    fn token(&self, request: &Request) -> Response {
        let allowed = match &self.login {
            Some(Login::Token { user: Some((user, password)) }) => request.is_basic(user, password),
            _ => true,
        };
        match allowed {
            true => Response::new(200).with_body(json!({ "token": TOKEN }).to_string()),
            false => Response::new(401),
        }
    }

    fn refusal(&self, request: &Request, address: SocketAddr) -> Option<Response> {
        let (allowed, challenge) = match self.login.as_ref()? {
            Login::Basic { user, password } => {
                (request.is_basic(user, password), "Basic realm=\"test\"".to_owned())
            }
            Login::Token { .. } => {
                let allowed = request.header("authorization") == Some(&format!("Bearer {TOKEN}"));
                let challenge = format!(
                    "Bearer realm=\"http://{address}/token\",service=\"test\",scope=\"repository:x:pull\""
                );
                (allowed, challenge)
            }
        };
        (!allowed).then(|| Response::new(401).with("WWW-Authenticate", challenge))
    }

    fn find(&self, path: &str, range: Option<usize>) -> Response {
        let Some(path) = path.strip_prefix("/v2/") else { return Response::new(404) };
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
