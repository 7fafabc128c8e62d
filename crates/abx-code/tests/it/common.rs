//! A server of our own for each test, on a port of its own, and a client that reads events.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use abx_code::Settings;
use serde_json::Value;
use tempfile::TempDir;

/// Ends with the thread's runtime, when the test drops it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) home: TempDir,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// With the Python of this machine and nothing else.
    pub(crate) fn start() -> Self {
        Self::with(|_, _| {})
    }

    /// With changed variables; the home's path is given.
    pub(crate) fn with(change: impl FnOnce(&mut BTreeMap<String, String>, &Path)) -> Self {
        let home = tempfile::tempdir().expect("tempdir");
        let mut env = BTreeMap::from([
            ("HOME".to_owned(), home.path().display().to_string()),
            ("PATH".to_owned(), std::env::var("PATH").expect("PATH")),
            ("FROM_SANDBOX".to_owned(), "yes".to_owned()),
        ]);
        change(&mut env, home.path());
        // Kernels of this machine are not for tests to find.
        let kernels = env.get("JUPYTER_PATH").into_iter().map(PathBuf::from).collect();
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("address");
        listener.set_nonblocking(true).expect("nonblocking");
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
            let tasks = tokio::task::LocalSet::new();
            tasks.block_on(&runtime, async {
                tokio::select! {
                    served = abx_code::serve(listener, Settings { env, kernels }) => served.expect("served"),
                    _ = stopped => {}
                }
            });
        });
        Self { address, home, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Sends a request; the answer's status and body.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut answer = self.open(method, path, body);
        let status = answer.status;
        let mut text = String::new();
        answer.body.read_to_string(&mut text).expect("body");
        (status, text)
    }

    /// Runs a cell to its end; `more` are further fields of the request.
    pub(crate) fn run(&self, code: &str, more: Value) -> Execution {
        let answer = self.begin(code, more);
        Execution { events: answer.events() }
    }

    /// Begins to run a cell.
    pub(crate) fn begin(&self, code: &str, mut more: Value) -> Answer {
        more["code"] = code.into();
        let answer = self.open("POST", "/execute", &more.to_string());
        assert_eq!(answer.status, 200, "{code}");
        answer
    }

    pub(crate) fn open(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("connect");
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("head");
        stream.write_all(body.as_bytes()).expect("body");
        let mut body = BufReader::new(stream);
        let mut line = String::new();
        body.read_line(&mut line).expect("status line");
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        while line != "\r\n" {
            line.clear();
            body.read_line(&mut line).expect("header");
        }
        Answer { status, body }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "the server panicked");
        }
    }
}

/// An answer whose body is still to be read. Dropping it hangs up.
pub(crate) struct Answer {
    pub(crate) status: u16,
    body: BufReader<TcpStream>,
}

impl Answer {
    /// The next event; `None` at the end.
    pub(crate) fn event(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.body.read_line(&mut line).expect("a line");
        (!line.is_empty())
            .then(|| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
    }

    /// Reads on until output with this text has come.
    pub(crate) fn until_stdout(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let event = self.event().unwrap_or_else(|| panic!("{text:?} was not written, only {seen:?}"));
            seen.push_str(event["text"].as_str().unwrap_or_default());
        }
    }

    fn events(mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.event()).filter(|event| event["type"] != "keepalive").collect()
    }
}

/// All that happened.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(crate) events: Vec<Value>,
}

impl Execution {
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    fn text(&self, kind: &str) -> String {
        self.of(kind).iter().filter_map(|event| event["text"].as_str()).collect()
    }

    pub(crate) fn stdout(&self) -> String {
        self.text("stdout")
    }

    pub(crate) fn stderr(&self) -> String {
        self.text("stderr")
    }

    /// Text of the last expression; nothing where there is none.
    pub(crate) fn value(&self) -> String {
        let main = |event: &&Value| event["type"] == "result" && event["is_main_result"] == true;
        self.events
            .iter()
            .find(main)
            .map(|event| event["text"].as_str().unwrap_or_default().to_owned())
            .unwrap_or_default()
    }

    /// Name and value of what it raised; nothing where it did not.
    pub(crate) fn error(&self) -> String {
        self.of("error")
            .iter()
            .map(|event| {
                format!(
                    "{}: {}",
                    event["name"].as_str().expect("name"),
                    event["value"].as_str().expect("value")
                )
            })
            .collect()
    }
}
