//! The programs, with counters in them.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::{tool, workspace};

/// What libFuzzer steers by: a counter for each branch, and what is compared with what. Stable flags, all of them;
/// there is no sanitizer, since `unsafe` is not what these readers are made of.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1";

/// Where the programs lie.
#[derive(Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Builds all of them, of the same dependencies as the workspace.
    pub(crate) fn build() -> Result<Self, Failure> {
        let (root, target) = (workspace::root(), target());
        let lock = root.join("fuzz/Cargo.lock");
        std::fs::copy(root.join("Cargo.lock"), &lock).map_err(Failure::file(&lock))?;
        let host = host()?;
        tool::say("building the fuzzers");
        // With a target named, build scripts and macros are left as they are.
        let mut command = Command::new(workspace::cargo());
        command.args(["build", "--quiet", "--release", "--target", &host]).current_dir(root.join("fuzz"));
        tool::run(command.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", &target))?;
        Ok(Self { folder: target.join(host).join("release") })
    }

    /// The program of a target.
    pub(crate) fn of(&self, target: &str) -> PathBuf {
        self.folder.join(target)
    }
}

/// The folder of everything the fuzzers make.
pub(crate) fn target() -> PathBuf {
    workspace::target().join("fuzz")
}

fn host() -> Result<String, Failure> {
    let said = tool::output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::unexpected("rustc -vV", said.clone()))
}
