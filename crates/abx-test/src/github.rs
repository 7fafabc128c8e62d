//! A GitHub on the loopback, which can also misbehave.
//!
//! It knows the questions that fetching a repository takes, plain HTTP, one request a connection. Archives are
//! handed out behind a redirect, as the real one does. Each [`Trick`] is bound to a part of the request path and wears
//! off after a number of requests.

mod tags;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::json;
use tags::Tags;

use crate::loopback::{Loopback, lock};
pub use crate::registry::Request;
use crate::registry::http::Response;
use crate::wire::Wire;

/// A way to misbehave.
#[derive(Clone, Debug)]
pub enum Trick {
    /// Answer with this status, these headers, and this as the message.
    Refuse(u16, Vec<(&'static str, String)>, &'static str),
    /// Promise the whole body, close after so many bytes of it.
    CutAfter(usize),
    /// Send these bytes instead.
    Body(Vec<u8>),
    /// Answer with this header in the place of its own.
    Header(&'static str, String),
    /// Send the client to the same path at this base address.
    Redirect(String),
    /// Answer after this time only.
    Stall(Duration),
}

impl Trick {
    /// Does to a response what it is for; returns after how much of the body to hang up.
    pub(crate) fn play(self, request: &Request, response: &mut Response) -> Option<usize> {
        match self {
            Self::Refuse(status, headers, message) => {
                *response = Response::new(status).with_body(json!({ "message": message }).to_string());
                for (name, value) in headers {
                    response.set(name, value);
                }
            }
            Self::CutAfter(bytes) => return Some(bytes),
            Self::Body(body) => *response = Response::new(200).with_body(body),
            Self::Header(name, value) => response.set(name, value),
            Self::Redirect(base) => {
                *response = Response::new(302).with("Location", format!("{base}{}", request.path));
            }
            Self::Stall(time) => std::thread::sleep(time),
        }
        None
    }
}

/// A running GitHub; dropping it stops it.
#[derive(Debug)]
pub struct LoopbackGithub {
    server: Loopback<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By `owner/repo`.
    repositories: HashMap<String, Repository>,
    tricks: Vec<(String, Trick, usize)>,
    wires: Vec<(String, Wire, usize)>,
    requests: Vec<Request>,
}

#[derive(Debug, Default)]
struct Repository {
    /// Name to commit; the default branch is `HEAD`.
    refs: HashMap<String, String>,
    /// Commit to archive.
    archives: HashMap<String, Vec<u8>>,
    tags: Tags,
    /// Whoever does not show this sees nothing.
    token: Option<String>,
}

impl LoopbackGithub {
    /// Starts an empty one on a free port of 127.0.0.1.
    pub fn start() -> Self {
        Self { server: Loopback::start(serve) }
    }

    /// The base of its API.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Adds a commit with these files to `owner/repo`, and lets a ref (`HEAD` for the default branch) stand for it.
    pub fn put(&self, repository: &str, git_ref: &str, commit: &str, files: &[(&str, &str)]) {
        let top = format!("{}-{}", repository.replace('/', "-"), &commit[..7]);
        self.put_archive(repository, git_ref, commit, archive(&top, files));
    }

    /// The same with an archive as it is.
    pub fn put_archive(&self, repository: &str, git_ref: &str, commit: &str, archive: Vec<u8>) {
        let mut state = self.state();
        let repository = state.repositories.entry(repository.to_owned()).or_default();
        repository.refs.insert(git_ref.to_owned(), commit.to_owned());
        repository.archives.insert(commit.to_owned(), archive);
    }

    /// Lets a tag stand for a commit, by way of an object of its own where it is annotated.
    pub fn tag(&self, repository: &str, name: &str, commit: &str, is_annotated: bool) {
        let mut state = self.state();
        let repository = state.repositories.entry(repository.to_owned()).or_default();
        repository.refs.insert(name.to_owned(), commit.to_owned());
        repository.tags.put(name, commit, is_annotated);
    }

    /// A branch or tag is there no more.
    pub fn remove(&self, repository: &str, name: &str) {
        let mut state = self.state();
        let repository = state.repositories.entry(repository.to_owned()).or_default();
        repository.refs.remove(name);
        repository.tags.remove(name);
    }

    /// Hides a repository from whoever lacks the token.
    pub fn require(&self, repository: &str, token: &str) {
        self.state().repositories.entry(repository.to_owned()).or_default().token = Some(token.to_owned());
    }

    /// Plays a trick on the next `times` requests whose path contains `path`.
    pub fn play(&self, path: impl Into<String>, trick: Trick, times: usize) {
        self.state().tricks.push((path.into(), trick, times));
    }

    /// Sends this to the next `times` requests whose path contains `path`.
    pub fn send(&self, path: impl Into<String>, wire: Wire, times: usize) {
        self.state().wires.push((path.into(), wire, times));
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// The paths of the requests so far that contain `part`.
    pub fn asked(&self, part: &str) -> Vec<String> {
        self.state()
            .requests
            .iter()
            .map(|request| request.path.clone())
            .filter(|path| path.contains(part))
            .collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.server.state()
    }
}

/// A gzipped tar of files below one folder, which tells no time.
pub fn archive(top: &str, files: &[(&str, &str)]) -> Vec<u8> {
    archive_of(0, top, files)
}

/// The same of a commit that was made at `time`, in seconds since 1970.
pub fn archive_of(time: u64, top: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mtime(time);
        header.set_mode(if content.starts_with("#!") { 0o775 } else { 0o664 });
        builder.append_data(&mut header, format!("{top}/{path}"), content.as_bytes()).expect("tar");
    }
    builder.into_inner().and_then(|encoder| encoder.finish()).expect("gzip")
}

fn serve(mut stream: TcpStream, address: SocketAddr, state: &Mutex<State>) {
    let Some(request) = Request::read(&mut stream) else { return };
    let (wire, trick, mut response) = {
        let mut state = lock(state);
        state.requests.push(request.clone());
        let wire = due(&mut state.wires, &request.path);
        (wire, due(&mut state.tricks, &request.path), state.answer(&request, address))
    };
    if let Some(wire) = wire {
        let _ = wire.send(&mut stream);
        return;
    }
    let cut = trick.and_then(|trick| trick.play(&request, &mut response));
    // A client that hangs up early is its own business.
    let _ = response.write(&mut stream, cut);
}

/// What is meant for this path, if it has not worn off.
fn due<T: Clone>(all: &mut [(String, T, usize)], path: &str) -> Option<T> {
    let (_, what, times) =
        all.iter_mut().find(|(part, _, times)| *times > 0 && path.contains(part.as_str()))?;
    *times -= 1;
    Some(what.clone())
}

impl State {
    fn answer(&self, request: &Request, address: SocketAddr) -> Response {
        let missing = || Response::new(404).with_body(json!({ "message": "Not Found" }).to_string());
        let path = request.path.split('?').next().unwrap_or_default();
        let mut parts = path.trim_start_matches('/').splitn(5, '/');
        let mut part = || parts.next().unwrap_or_default();
        let (area, name, verb, rest) = (part(), format!("{}/{}", part(), part()), part(), part());
        let Some(repository) = self.repositories.get(&name) else { return missing() };
        if let Some(token) = &repository.token {
            match request.header("authorization") {
                None => return missing(),
                Some(sent) if *sent != format!("Bearer {token}") => {
                    return Response::new(401).with_body(json!({ "message": "Bad credentials" }).to_string());
                }
                Some(_) => {}
            }
        }
        match (area, verb) {
            ("repos", "") => Response::new(200).with_body(json!({ "default_branch": "main" }).to_string()),
            ("repos", "commits") => repository.commit(rest, request),
            ("repos", "tags") => repository.tags.page(request, &address.to_string()),
            ("repos", "git") if rest == "matching-refs/tags" => repository.tags.matching(request),
            ("repos", "git") => {
                rest.strip_prefix("tags/").and_then(|sha| repository.tags.object(sha)).unwrap_or_else(missing)
            }
            ("repos", "tarball") => {
                Response::new(302).with("Location", format!("http://{address}/codeload/{name}/tar/{rest}"))
            }
            ("codeload", "tar") => match repository.archives.get(rest) {
                Some(archive) => Response::new(200).with_body(archive.clone()),
                None => missing(),
            },
            _ => missing(),
        }
    }
}

impl Repository {
    fn commit(&self, name: &str, request: &Request) -> Response {
        let known = self.archives.get_key_value(name).map(|(commit, _)| commit);
        let Some(commit) = self.refs.get(name).or(known) else {
            let message = format!("No commit found for SHA: {name}");
            return Response::new(422).with_body(json!({ "message": message }).to_string());
        };
        let etag = format!("\"{commit}\"");
        if request.header("if-none-match") == Some(&etag) {
            return Response::new(304).with("ETag", etag);
        }
        Response::new(200).with("ETag", etag).with_body(commit.clone())
    }
}
