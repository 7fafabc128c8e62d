//! podman, with a store, a network configuration and settings of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::{attempt, quiet};
use crate::bench::lab::Lab;
use crate::bench::peers::{CGROUP, LIMITS, installed};
use crate::bench::root::Root;
use crate::failure::Failure;

/// The program and its store.
pub(crate) struct Podman {
    program: PathBuf,
    folder: PathBuf,
}

impl Podman {
    /// Where it is installed; or why not.
    pub(crate) fn new(lab: &Lab) -> Result<Self, String> {
        let program = installed("podman", "podman runc")?;
        let folder = lab.folder("podman").map_err(|failure| failure.to_string())?;
        let podman = Self { program, folder };
        podman.configure().map_err(|failure| failure.to_string())?;
        Ok(podman)
    }

    /// Limits no higher than what root may set where it lacks CAP_SYS_RESOURCE; no systemd.
    fn configure(&self) -> Result<(), Failure> {
        let networks = self.folder.join("networks");
        std::fs::create_dir_all(&networks).map_err(Failure::file(&networks))?;
        let settings = format!(
            "[containers]\ndefault_ulimits = [\"nofile=20000:20000\", \"nproc=32768:32768\"]\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nruntime = \"runc\"\n\
             [network]\nnetwork_config_dir = \"{}\"\n",
            networks.display()
        );
        let path = self.settings();
        std::fs::write(&path, settings).map_err(Failure::file(&path))
    }

    /// `podman` with its store.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env("CONTAINERS_CONF", self.settings());
        command.arg("--root").arg(self.folder.join("store")).arg("--runroot").arg(self.folder.join("run"));
        command.args(arguments);
        command
    }

    /// `podman run` with our limits and these options and words.
    pub(crate) fn run(&self, network: &str, options: &[&str], image: &str, process: &[&str]) -> Command {
        let mut command =
            self.command(&["run", "--network", network, "--cgroup-parent", &format!("/{CGROUP}")]);
        command.args(LIMITS).args(options).arg(image).args(process);
        command
    }

    /// The image of `root`, imported on first use.
    pub(crate) fn image(&self, root: &Root) -> Result<String, Failure> {
        let image = format!("localhost/abx-bench:{}", root.template());
        if quiet(&mut self.command(&["image", "exists", &image])).is_err() {
            quiet(self.command(&["import", "--quiet"]).arg(root.archive()).arg(&image))?;
        }
        Ok(image)
    }

    /// Removes a container.
    pub(crate) fn remove(&self, id: &str) {
        attempt(&mut self.command(&["rm", "--force", "--time", "0", id]));
    }

    fn settings(&self) -> PathBuf {
        Path::new(&self.folder).join("containers.conf")
    }
}
