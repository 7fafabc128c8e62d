//! The registry everyone runs, on a free port of the loopback: Debian's package `docker-registry`.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::wait_until;

/// User and password of a registry that wants a log-in.
pub const USER: (&str, &str) = ("ann", "secret");

/// As `htpasswd -B` writes them.
const HTPASSWD: &str = "ann:$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// A running registry with a folder of its own; dropping it ends it.
#[derive(Debug)]
pub struct DockerRegistry {
    child: Child,
    address: SocketAddr,
    _dir: tempfile::TempDir,
}

impl DockerRegistry {
    /// Starts one that is open to all; `None`, with the reason printed, where it is not installed.
    pub fn start() -> Option<Self> {
        Self::launch(false)
    }

    /// Starts one that wants the log-in of [`USER`].
    pub fn start_with_log_in() -> Option<Self> {
        Self::launch(true)
    }

    fn launch(wants_log_in: bool) -> Option<Self> {
        if Command::new("docker-registry").arg("--version").stdout(Stdio::null()).status().is_err() {
            crate::skip("docker-registry is not installed: apt-get install docker-registry");
            return None;
        }
        let dir = tempfile::tempdir().expect("tempdir");
        let address =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("htpasswd"), HTPASSWD).expect("write");
        let auth = match wants_log_in {
            true => format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", path("htpasswd").display()),
            false => String::new(),
        };
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\n\
             http: {{addr: '{address}'}}\n{auth}",
            path("data").display()
        );
        std::fs::write(path("config.yml"), text).expect("write");
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(path("config.yml")).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("start the registry");
        let registry = Self { child, address, _dir: dir };
        wait_until("the registry answers", || TcpStream::connect(address).ok());
        Some(registry)
    }

    /// `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for DockerRegistry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
