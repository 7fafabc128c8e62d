//! docker: a daemon of our own, with its data in the run's folder. It ends with the lab.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::clock::{attempt, quiet};
use crate::bench::lab::Lab;
use crate::bench::peers::{CGROUP, LIMITS, installed};
use crate::bench::root::Root;
use crate::bench::row::Reach;
use crate::failure::Failure;
use crate::tool;

/// The client and the socket of a running daemon.
pub(crate) struct Docker {
    client: PathBuf,
    folder: PathBuf,
}

impl Docker {
    /// Starts the daemon and waits until it answers; or says why not.
    pub(crate) fn start(lab: &Lab) -> Result<Self, String> {
        let daemon = installed("dockerd", "docker.io")?;
        // Another client may come first on PATH; the distribution's own fits its daemon.
        let packaged = PathBuf::from("/usr/bin/docker");
        let client =
            if tool::is_executable(&packaged) { packaged } else { installed("docker", "docker.io")? };
        let folder = lab.folder("docker").map_err(|failure| failure.to_string())?;
        let docker = Self { client, folder };
        docker.launch(&daemon, lab.reach()).map_err(|failure| failure.to_string())?;
        Ok(docker)
    }

    fn launch(&self, daemon: &Path, reach: Reach) -> Result<(), Failure> {
        let log_path = self.folder.join("dockerd.log");
        let log = std::fs::File::create(&log_path).map_err(Failure::file(&log_path))?;
        let mut command = Command::new(daemon);
        command.arg("--data-root").arg(self.folder.join("data"));
        command.args([
            "--exec-root",
            "/run/docker",
            "--pidfile",
            "/run/docker.pid",
            "--cgroup-parent",
            CGROUP,
        ]);
        command.arg("--host").arg(self.host());
        if reach == Reach::Open {
            // Builds use the host's network as it is; nothing of it is changed.
            command.args(["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().map_err(|source| tool::start_failure(&command, source))?;
        let start = Instant::now();
        while quiet(&mut self.command(&["info"])).is_err() {
            if start.elapsed() > Duration::from_secs(30) {
                let said = std::fs::read(&log_path).unwrap_or_default();
                return Err(tool::failed(&command, "does not answer", &said));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    /// `docker` with our daemon.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.client);
        command
            .env("DOCKER_HOST", self.host())
            .env("DOCKER_CONFIG", &self.folder)
            .env("DOCKER_BUILDKIT", "1");
        command.args(arguments);
        command
    }

    /// `docker run` with our limits and these options and words.
    pub(crate) fn run(&self, network: &str, options: &[&str], image: &str, process: &[&str]) -> Command {
        let mut command = self.command(&["run", "--network", network]);
        command.args(LIMITS).args(options).arg(image).args(process);
        command
    }

    /// The image of `root`, imported on first use.
    pub(crate) fn image(&self, root: &Root) -> Result<String, Failure> {
        let image = format!("abx-bench:{}", root.template());
        if quiet(&mut self.command(&["image", "inspect", &image])).is_err() {
            quiet(self.command(&["import"]).arg(root.archive()).arg(&image))?;
        }
        Ok(image)
    }

    /// Removes a container.
    pub(crate) fn remove(&self, id: &str) {
        attempt(&mut self.command(&["rm", "--force", id]));
    }

    fn host(&self) -> String {
        format!("unix://{}", self.folder.join("d.sock").display())
    }
}
