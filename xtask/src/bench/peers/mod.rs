//! The other programs, each driven the way that is fastest on this kind of machine and limited like ours: one
//! core, 2048 MB, 2048 processes.

pub(crate) mod buildah;
pub(crate) mod bwrap;
pub(crate) mod docker;
pub(crate) mod fetchers;
pub(crate) mod mmdebstrap;
pub(crate) mod oci;
pub(crate) mod podman;
pub(crate) mod registry;

use std::path::{Path, PathBuf};

use crate::tool;

/// The control group all of them work below.
pub(crate) const CGROUP: &str = "abx-bench";

/// Limits as podman and docker spell them.
pub(crate) const LIMITS: [&str; 6] = ["--cpus", "1", "--memory", "2048m", "--pids-limit", "2048"];

/// A sleep that needs nothing but the base.
pub(crate) const SLEEP: [&str; 2] = ["/bin/sleep", "infinity"];

/// Where `program` is; or which package has it.
pub(crate) fn installed(program: &str, package: &str) -> Result<PathBuf, String> {
    let missing = || format!("not installed: apt-get install --no-install-recommends {package}");
    tool::find(program).ok_or_else(missing)
}

/// Removes our control group below every controller; false while something is still in there.
pub(crate) fn remove_cgroups() -> bool {
    let top = Path::new("/sys/fs/cgroup");
    let controllers = top.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let groups = controllers.chain([top.to_owned()]).map(|controller| controller.join(CGROUP));
    groups.filter(|group| group.is_dir()).all(|group| remove_group(&group))
}

fn remove_group(group: &Path) -> bool {
    let children = group.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let is_empty = children.filter(|child| child.is_dir()).all(|child| remove_group(&child));
    is_empty && std::fs::remove_dir(group).is_ok()
}
