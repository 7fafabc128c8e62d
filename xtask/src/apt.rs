//! Installing Debian packages that chores need.

use std::process::Command;

use crate::failure::Failure;
use crate::{host, tool};

/// Installs `packages`, where that can be done; whoever needs them says what is lacking all the same.
pub(crate) fn install(packages: &[&str]) {
    if packages.is_empty() || !host::is_root() || tool::find("apt-get").is_none() {
        return;
    }
    tool::say(&format!("installing {}", packages.join(" ")));
    let install: Vec<&str> =
        ["install", "--yes", "--no-install-recommends"].into_iter().chain(packages.iter().copied()).collect();
    if apt(&install).is_err() {
        // A host that has never looked knows no packages.
        let _ = apt(&["update"]).and_then(|()| apt(&install));
    }
}

fn apt(arguments: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("apt-get");
    // Tests and chores start their own servers: an installed one is not to run beside them.
    command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").args([
        "-qq",
        "-o",
        "DPkg::Lock::Timeout=400",
    ]);
    tool::run(command.args(arguments))
}
