//! runc and crun: a bundle in, a container out.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::bench::clock::{attempt, quiet};
use crate::bench::lab::Lab;
use crate::bench::peers::{CGROUP, installed};
use crate::bench::root::{Overlay, Root};
use crate::failure::Failure;

/// One of the two.
#[derive(Clone, Debug)]
pub(crate) struct Oci {
    name: &'static str,
    program: PathBuf,
    folder: PathBuf,
    root: Root,
}

/// A container that is ready to start, its root file system mounted. Dropping it removes it.
pub(crate) struct Bundle {
    oci: Oci,
    id: String,
    folder: PathBuf,
    /// Unmounted when the container is gone: after `drop`, with the fields.
    _overlay: Overlay,
}

impl Oci {
    /// The runtime of this name; or why not.
    pub(crate) fn new(name: &'static str, lab: &Lab, root: &Root) -> Result<Self, String> {
        let program = installed(name, name)?;
        let folder = lab.folder(name).map_err(|failure| failure.to_string())?;
        Ok(Self { name, program, folder, root: root.clone() })
    }

    /// A container for `process`, called `id`.
    pub(crate) fn bundle(&self, id: &str, process: &[&str]) -> Result<Bundle, Failure> {
        let folder = self.folder.join(id);
        let overlay = self.root.overlay(&folder)?;
        let config = self.config(&overlay.root(), id, process)?;
        let path = folder.join("config.json");
        std::fs::write(&path, config.to_string()).map_err(Failure::file(&path))?;
        Ok(Bundle { oci: self.clone(), id: format!("{}-{id}", self.name), folder, _overlay: overlay })
    }

    /// The runtime's own default, with our limits and a control group namespace as ours has.
    fn config(&self, root: &Path, id: &str, process: &[&str]) -> Result<Value, Failure> {
        let path = self.folder.join("config.json");
        if !path.exists() {
            quiet(Command::new(&self.program).arg("spec").current_dir(&self.folder))?;
        }
        let text = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
        let bad = |error: serde_json::Error| Failure::unexpected("config.json", error.to_string());
        let mut config: Value = serde_json::from_str(&text).map_err(bad)?;
        config["root"] = json!({ "path": root, "readonly": false });
        config["process"]["terminal"] = json!(false);
        config["process"]["args"] = json!(process);
        config["linux"]["cgroupsPath"] = json!(format!("/{CGROUP}/{}-{id}", self.name));
        config["linux"]["namespaces"] = ["pid", "network", "ipc", "uts", "mount", "cgroup"]
            .iter()
            .map(|kind| json!({ "type": kind }))
            .collect();
        let limits = &mut config["linux"]["resources"];
        limits["memory"] = json!({ "limit": 2048_u64 << 20 });
        limits["pids"] = json!({ "limit": 2048 });
        limits["cpu"] = json!({ "quota": 100_000, "period": 100_000 });
        Ok(config)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(self.folder.join("state"));
        command
    }
}

impl Bundle {
    /// Runs it to its end, in the foreground or, detached, to its start.
    pub(crate) fn run(&self, is_detached: bool) -> Command {
        let mut command = self.oci.command();
        command.arg("run");
        if is_detached {
            command.arg("--detach");
        }
        command.arg("--bundle").arg(&self.folder).arg(&self.id);
        command
    }

    /// Runs a command in it.
    pub(crate) fn exec(&self, process: &[&str]) -> Command {
        let mut command = self.oci.command();
        command.arg("exec").arg(&self.id).args(process);
        command
    }
}

impl Drop for Bundle {
    fn drop(&mut self) {
        attempt(self.oci.command().args(["delete", "--force", &self.id]));
    }
}
