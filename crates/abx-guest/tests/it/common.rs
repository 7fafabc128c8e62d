//! A daemon of our own for each test: an ordinary process on a socket in a temporary directory.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use abx_client::Client;
use abx_protocol::BootConfig;
use rustix::io::{FdFlags, fcntl_setfd};

/// Dropping it ends the daemon by closing its control socket, as a host does.
pub(crate) struct TestGuest {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) client: Client,
    control: Option<UnixStream>,
    child: Child,
}

impl TestGuest {
    /// With the files of this machine, as whoever runs the tests, in a workdir of its own.
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// With a changed configuration.
    pub(crate) fn with(change: impl FnOnce(&mut BootConfig)) -> Self {
        let dir = tempfile::tempdir().expect("tempdir");
        let workdir = dir.path().join("work");
        std::fs::create_dir(&workdir).expect("workdir");
        let mut config = BootConfig {
            sandbox_id: "test0".into(),
            template: "test-template".into(),
            user: rustix::process::getuid().as_raw().to_string(),
            workdir: workdir.to_str().expect("utf-8").into(),
            env: vec![("FROM_TEMPLATE".into(), "yes".into())],
            ..BootConfig::default()
        };
        change(&mut config);
        let socket = dir.path().join("guest.sock");
        let listener = UnixListener::bind(&socket).expect("bind");
        let (ours, theirs) = UnixStream::pair().expect("socket pair");
        let mut config_file = tempfile::tempfile().expect("tempfile");
        config_file.write_all(&serde_json::to_vec(&config).expect("json")).expect("write");
        config_file.rewind().expect("rewind");
        let log = File::create(dir.path().join("log")).expect("log");
        let child = spawn([
            ("ABX_LISTEN_FD", listener.into()),
            ("ABX_CONTROL_FD", theirs.into()),
            ("ABX_CONFIG_FD", config_file.into()),
            ("ABX_LOG_FD", log.into()),
        ]);
        let mut ready = [0; 6];
        (&ours).read_exact(&mut ready).expect("the daemon says that it serves");
        assert_eq!(&ready, b"ready\n");
        Self { client: Client::new(socket), dir, control: Some(ours), child }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A path below the test's directory.
    pub(crate) fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("utf-8").to_owned()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// Lets go of the control socket and returns the daemon's status.
    pub(crate) fn release(&mut self) -> std::process::ExitStatus {
        self.control = None;
        self.child.wait().expect("wait")
    }

    /// Sends bytes as they are, on a connection of their own, and returns all that comes back.
    pub(crate) fn raw(&self, request: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(self.client.socket()).expect("connect");
        stream.write_all(request).expect("write");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("read");
        answer
    }

    /// A request with a body and a few headers, closed after its answer: status and decoded body.
    pub(crate) fn http(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        Answer::parse(&self.raw(&[request.as_bytes(), body].concat()))
    }

    /// A unary call in JSON.
    pub(crate) fn call(&self, target: &str, body: &str) -> (u16, serde_json::Value) {
        let answer = self.http("POST", target, &[("Content-Type", "application/json")], body.as_bytes());
        (answer.status, serde_json::from_slice(&answer.body).expect("json"))
    }
}

impl Drop for TestGuest {
    fn drop(&mut self) {
        if self.control.is_some() {
            self.release();
        }
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    fn parse(raw: &[u8]) -> Self {
        let split = raw.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&raw[..split]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let body = &raw[split + 4..];
        let body = if head.contains("transfer-encoding: chunked") { unchunk(body) } else { body.to_vec() };
        Self { status, head, body }
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).expect("hex"), 16).expect("hex");
        body.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
    body
}

fn spawn(inherited: [(&str, OwnedFd); 4]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_abx-guest"));
    for (name, descriptor) in &inherited {
        command.env(name, descriptor.as_raw_fd().to_string());
    }
    let descriptors: Vec<_> = inherited.map(|(_, descriptor)| descriptor).into();
    let numbers: Vec<i32> = descriptors.iter().map(|descriptor| descriptor.as_raw_fd()).collect();
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            for descriptor in &descriptors {
                fcntl_setfd(descriptor.as_fd(), FdFlags::empty())?;
            }
            Ok(())
        })
    };
    assert!(numbers.iter().all(|number| *number > 2));
    command.spawn().expect("the daemon starts")
}

/// Runs a future on a runtime of one thread.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime").block_on(future)
}
