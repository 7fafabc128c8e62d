//! bubblewrap: namespaces over an overlay, without limits; the floor for a start.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::peers::installed;

/// The program.
pub(crate) struct Bwrap {
    program: PathBuf,
}

impl Bwrap {
    /// Where it is installed; or why not.
    pub(crate) fn new() -> Result<Self, String> {
        installed("bwrap", "bubblewrap").map(|program| Self { program })
    }

    /// Runs `process` in `root`.
    pub(crate) fn run(&self, root: &Path, process: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--bind").arg(root).arg("/").args(["--proc", "/proc", "--dev", "/dev"]);
        command.args(["--unshare-all", "--die-with-parent", "--"]).args(process);
        command
    }
}
