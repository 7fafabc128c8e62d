//! mmdebstrap: the smallest Debian root file system from the archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::peers::installed;

/// The program.
#[derive(Clone)]
pub(crate) struct Mmdebstrap {
    program: PathBuf,
}

impl Mmdebstrap {
    /// Where it is installed; or why not.
    pub(crate) fn new() -> Result<Self, String> {
        installed("mmdebstrap", "mmdebstrap").map(|program| Self { program })
    }

    /// Makes a root file system of `release` in `target`, which must not exist, from the archives `sources` names. Packages
    /// come from and go to `packages` where it is given.
    pub(crate) fn make(
        &self,
        release: &str,
        target: &Path,
        sources: &Path,
        packages: Option<&Path>,
    ) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--quiet", "--mode=root", "--variant=minbase"]);
        if let Some(packages) = packages {
            let packages = packages.display();
            command.args(["--skip=essential/unlink", "--skip=cleanup/apt/cache"]);
            command.arg(format!(
                r#"--setup-hook=mkdir -p "$1/var/cache/apt/archives" && find {packages} -name '*.deb' -exec cp -t "$1/var/cache/apt/archives" {{}} +"#
            ));
            command.arg(format!(r#"--customize-hook=cp -n "$1"/var/cache/apt/archives/*.deb {packages}"#));
        }
        command.arg(release).arg(target).arg(sources);
        command
    }
}
