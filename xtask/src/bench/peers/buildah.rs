//! buildah, with a store of its own.

use std::path::PathBuf;
use std::process::Command;

use crate::bench::clock::quiet;
use crate::bench::lab::Lab;
use crate::bench::peers::installed;
use crate::bench::root::Root;
use crate::failure::Failure;

/// The program and its store.
pub(crate) struct Buildah {
    program: PathBuf,
    folder: PathBuf,
}

impl Buildah {
    /// Where it is installed; or why not.
    pub(crate) fn new(lab: &Lab) -> Result<Self, String> {
        let program = installed("buildah", "buildah")?;
        let folder = lab.folder("buildah").map_err(|failure| failure.to_string())?;
        Ok(Self { program, folder })
    }

    /// `buildah` with its store.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(self.folder.join("store")).arg("--runroot").arg(self.folder.join("run"));
        command.args(arguments);
        command
    }

    /// The image of `root`, made on first use.
    pub(crate) fn image(&self, root: &Root) -> Result<String, Failure> {
        let image = format!("localhost/abx-bench:{}", root.template());
        if quiet(&mut self.command(&["inspect", &image])).is_err() {
            let container = quiet(&mut self.command(&["from", "scratch"]))?.trim().to_owned();
            quiet(self.command(&["add", "--quiet", &container]).arg(root.archive()).arg("/"))?;
            quiet(&mut self.command(&["commit", "--quiet", "--rm", &container, &image]))?;
        }
        Ok(image)
    }
}
