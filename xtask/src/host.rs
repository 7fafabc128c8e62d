//! What this host has of what tests need.

use std::path::Path;

use crate::tool;

/// Something tests need that a host may lack.
pub(crate) struct Need {
    /// What it is.
    pub(crate) name: &'static str,
    /// Whether this host has it.
    pub(crate) is_met: bool,
    /// The tests that skip without it.
    pub(crate) tests: &'static str,
    /// How to get it.
    pub(crate) remedy: &'static str,
    /// Debian packages that bring it along.
    pub(crate) packages: &'static [&'static str],
}

/// Every need, met or not.
pub(crate) fn needs() -> Vec<Need> {
    vec![
        Need {
            name: "root",
            is_met: is_root(),
            tests: "all that make namespaces, mounts or cgroups",
            remedy: "run the command as root",
            packages: &[],
        },
        Need {
            name: "user namespaces",
            is_met: read_number("/proc/sys/user/max_user_namespaces").is_some_and(|number| number > 0),
            tests: "all that start a sandbox or a build step",
            remedy: "sysctl user.max_user_namespaces=10000",
            packages: &[],
        },
        Need {
            name: "overlayfs",
            is_met: filesystem("overlay"),
            tests: "all that start a sandbox or a build step",
            remedy: "modprobe overlay",
            packages: &[],
        },
        Need {
            name: "writable control groups",
            is_met: has_cgroups(),
            tests: "all that start a sandbox; limits",
            remedy: "mount the cgroup hierarchies",
            packages: &[],
        },
        Need {
            name: "loop devices and ext4",
            is_met: Path::new("/dev/loop-control").exists() && filesystem("ext4"),
            tests: "disk limits, all that start a sandbox",
            remedy: "modprobe loop ext4",
            packages: &[],
        },
        Need {
            name: "mkfs.ext4",
            is_met: tool::find("mkfs.ext4").is_some(),
            tests: "disk limits, all that start a sandbox",
            remedy: "apt-get install e2fsprogs",
            packages: &["e2fsprogs"],
        },
        Need {
            name: "docker-registry and skopeo",
            is_met: tool::find("docker-registry").is_some() && tool::find("skopeo").is_some(),
            tests: "push and pull against a real registry",
            remedy: "apt-get install --no-install-recommends docker-registry skopeo",
            packages: &["docker-registry", "skopeo"],
        },
        Need {
            name: "bzip2, xz and zstd",
            is_met: ["bzip2", "xz", "zstd"].iter().all(|name| tool::find(name).is_some()),
            tests: "Dockerfiles that unpack archives",
            remedy: "apt-get install --no-install-recommends bzip2 xz-utils zstd",
            packages: &["bzip2", "xz-utils", "zstd"],
        },
        Need {
            name: "a Debian archive",
            is_met: has_default_route(),
            tests: "the real bootstrap of a base image, and the sandboxes made from it",
            remedy: "connect the host, or set debian_mirror",
            packages: &[],
        },
    ]
}

/// Whether we run as root.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0)
}

/// Whether the kernel has this file system, loaded or able to be.
fn filesystem(name: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().next_back() == Some(name))
}

fn has_cgroups() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(2);
        let is_cgroup = fields.next().is_some_and(|kind| kind.starts_with("cgroup"));
        is_cgroup && fields.next().is_some_and(|options| options.split(',').any(|option| option == "rw"))
    })
}

fn has_default_route() -> bool {
    let routes = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
    routes.lines().skip(1).any(|line| line.split_whitespace().nth(1) == Some("00000000"))
}

fn read_number(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}
