//! The host of a template index on the loopback, which can also misbehave.

use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;

pub use crate::github::Trick;
use crate::loopback::{Loopback, lock};
pub use crate::registry::Request;
use crate::registry::http::Response;

/// A running host; dropping it stops it. Whatever the path, it has one index.
#[derive(Debug)]
pub struct LoopbackIndex {
    server: Loopback<State>,
}

#[derive(Debug, Default)]
struct State {
    text: String,
    /// How often the text was put.
    edition: u32,
    tricks: Vec<(Trick, usize)>,
    requests: Vec<Request>,
}

impl LoopbackIndex {
    /// Starts one on a free port of 127.0.0.1, with this index.
    pub fn start(text: &str) -> Self {
        let host = Self { server: Loopback::start(serve) };
        host.put(text);
        host
    }

    /// The address of the index.
    pub fn url(&self) -> String {
        format!("http://{}/index.yaml", self.server.address)
    }

    /// Publishes another one.
    pub fn put(&self, text: &str) {
        let mut state = self.server.state();
        state.text = text.to_owned();
        state.edition += 1;
    }

    /// Plays a trick on the next `times` requests.
    pub fn play(&self, trick: Trick, times: usize) {
        self.server.state().tricks.push((trick, times));
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Request> {
        self.server.state().requests.clone()
    }
}

fn serve(mut stream: TcpStream, _: SocketAddr, state: &Mutex<State>) {
    let Some(request) = Request::read(&mut stream) else { return };
    let (trick, mut response) = {
        let mut state = lock(state);
        state.requests.push(request.clone());
        (state.trick(), state.answer(&request))
    };
    let cut = trick.and_then(|trick| trick.play(&request, &mut response));
    // A client that hangs up early is its own business.
    let _ = response.write(&mut stream, cut);
}

impl State {
    fn trick(&mut self) -> Option<Trick> {
        let found = self.tricks.iter_mut().find(|(_, times)| *times > 0)?;
        found.1 -= 1;
        Some(found.0.clone())
    }

    fn answer(&self, request: &Request) -> Response {
        let etag = format!("\"{}\"", self.edition);
        if request.header("if-none-match") == Some(&etag) {
            return Response::new(304).with("ETag", etag);
        }
        Response::new(200).with("ETag", etag).with_body(self.text.clone())
    }
}
