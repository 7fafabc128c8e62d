//! docker-registry on the loopback, and skopeo to talk to it.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::clock::attempt;
use crate::bench::peers::installed;
use crate::failure::Failure;
use crate::tool;

/// A running registry; dropping it ends it.
pub(crate) struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    /// Starts one that keeps what it gets in `folder`; or says why not.
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        let program = installed("docker-registry", "docker-registry")?;
        Self::serve(&program, folder).map_err(|failure| failure.to_string())
    }

    fn serve(program: &Path, folder: &Path) -> Result<Self, Failure> {
        let failure = |source| Failure::Start { program: "a registry on the loopback".to_owned(), source };
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).map_err(failure)?;
        let config = folder.join("config.yml");
        let text = format!(
            "version: 0.1\nlog:\n  accesslog:\n    disabled: true\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: {address}\n",
            folder.join("data").display()
        );
        std::fs::write(&config, text).map_err(Failure::file(&config))?;
        let mut command = Command::new(program);
        command.arg("serve").arg(&config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn().map_err(|source| tool::start_failure(&command, source))?;
        let registry = Self { process, address: address.to_string() };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            if start.elapsed() > Duration::from_secs(10) {
                return Err(Failure::unexpected("docker-registry", "does not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(registry)
    }

    /// The image everybody pushes and pulls.
    pub(crate) fn image(&self) -> String {
        format!("docker://{}/bench/image:v1", self.address)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program.
#[derive(Clone)]
pub(crate) struct Skopeo {
    program: PathBuf,
}

impl Skopeo {
    pub(crate) fn new() -> Result<Self, String> {
        installed("skopeo", "skopeo").map(|program| Self { program })
    }

    /// Copies an image from one place to another, either of which may be a registry without TLS.
    pub(crate) fn copy(&self, from: &str, to: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args([
            "--insecure-policy",
            "copy",
            "--quiet",
            "--src-tls-verify=false",
            "--dest-tls-verify=false",
        ]);
        command.args([from, to]);
        command
    }

    /// An image in a storage of skopeo's in `folder`, where it keeps layers unpacked.
    pub(crate) fn stored(folder: &Path) -> String {
        let (root, run) = (folder.join("storage"), folder.join("run"));
        format!("containers-storage:[overlay@{}+{}]localhost/bench:v1", root.display(), run.display())
    }

    /// Lets go of a storage, so that its folder can be removed.
    pub(crate) fn release(folder: &Path) {
        attempt(Command::new("umount").arg(folder.join("storage/overlay")));
    }
}
