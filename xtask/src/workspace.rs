//! Where the workspace lies.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::tool;

/// The root of the workspace this program was built from.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder cargo builds into.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The name of cargo: the one that runs us, where it does.
pub(crate) fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// The release build of `abx`, made now.
pub(crate) fn release() -> Result<PathBuf, Failure> {
    tool::run(Command::new(cargo()).args(["build", "--release", "--package", "abx"]).current_dir(root()))?;
    Ok(target().join("release/abx"))
}
