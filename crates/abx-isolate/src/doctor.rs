//! What this host offers, and what launches have left on it.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::mount::FsOpenFlags;

use crate::cgroup::{self, Cgroups, Controller, Layout, Version};
use crate::error::{Feature, IsolateError, SystemError};
use crate::launch::Ids;
use crate::network;
use crate::userns;

/// One thing sandboxes need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub feature: Feature,
    pub ok: bool,
    /// What was found, or why not.
    pub detail: String,
    /// What to do about it, where it is not there.
    pub fix: Option<&'static str>,
}

/// Everything sandboxes need of this host. Looks only; changes nothing.
pub fn host_report() -> Vec<Check> {
    let layout = Layout::of_host().unwrap_or_default();
    vec![
        check(Feature::Root, root()),
        check(Feature::Namespaces, namespaces()),
        check(Feature::UserNamespaces, user_namespaces()),
        check(Feature::Overlay, file_system("overlay")),
        check(Feature::IdmappedMounts, kernel_at_least(5, 19)),
        check(Feature::LoopDevices, usable("/dev/loop-control")),
        check(
            Feature::Ext4,
            file_system("ext4").and_then(|found| mkfs().map(|tool| format!("{found}, {tool}"))),
        ),
        check(Feature::Cgroups, cgroups(&layout)),
        check(Feature::MemoryCgroup, controller(&layout, Controller::Memory)),
        check(Feature::CpuCgroup, controller(&layout, Controller::Cpu)),
        check(Feature::PidsCgroup, controller(&layout, Controller::Pids)),
        check(Feature::Seccomp, usable("/proc/sys/kernel/seccomp/actions_avail")),
        check(Feature::NfTables, answered(network::nf_tables_known())),
        check(Feature::Veth, answered(network::veth_known())),
        check(Feature::IpForwarding, usable("/proc/sys/net/ipv4/ip_forward")),
        check(Feature::ForwardPolicy, forward_policy()),
    ]
}

/// Whether this process may make sandboxes at all: a look that costs nothing, to be had before work is done for one.
///
/// # Errors
/// E2011 without root, or for a root that may not make namespaces.
pub fn require_root() -> Result<(), IsolateError> {
    let may_make_namespaces = rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN));
    if rustix::process::geteuid().is_root() && may_make_namespaces {
        return Ok(());
    }
    Err(IsolateError::Lacks { feature: Feature::Root, source: SystemError::from(Errno::PERM) })
}

type Found = Result<String, String>;

fn check(feature: Feature, found: Found) -> Check {
    match found {
        Ok(detail) => Check { feature, ok: true, detail, fix: None },
        Err(detail) => Check { feature, ok: false, detail, fix: Some(feature.hint()) },
    }
}

fn root() -> Found {
    let uid = rustix::process::geteuid();
    if !uid.is_root() {
        return Err(format!("running as user {}", uid.as_raw()));
    }
    let held = rustix::thread::capabilities(None).map_err(|errno| errno.to_string())?.effective;
    let needed = rustix::thread::CapabilitySet::SYS_ADMIN | rustix::thread::CapabilitySet::NET_ADMIN;
    if held.contains(needed) {
        Ok("uid 0".to_owned())
    } else {
        Err("root without CAP_SYS_ADMIN, CAP_NET_ADMIN".to_owned())
    }
}

fn namespaces() -> Found {
    let missing: Vec<_> = ["mnt", "pid", "net", "ipc", "uts", "cgroup", "user"]
        .into_iter()
        .filter(|kind| !is_there(&format!("/proc/self/ns/{kind}")))
        .collect();
    if missing.is_empty() {
        Ok("all seven kinds".to_owned())
    } else {
        Err(format!("without {}", missing.join(", ")))
    }
}

/// Makes one and lets go of it.
fn user_namespaces() -> Found {
    match userns::create(Ids::Identity) {
        Ok(_) => Ok("can be made".to_owned()),
        Err(IsolateError::Lacks { source, .. } | IsolateError::System { source, .. }) => {
            Err(source.to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Asking for a file system loads its module where there is one.
fn file_system(name: &str) -> Found {
    match rustix::mount::fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC) {
        Ok(_) => Ok("known to the kernel".to_owned()),
        Err(Errno::NODEV) => Err("not known to the kernel".to_owned()),
        Err(errno) => Err(errno.to_string()),
    }
}

fn kernel_at_least(major: u32, minor: u32) -> Found {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers =
        release.split(|character: char| !character.is_ascii_digit()).map_while(|part| part.parse().ok());
    let found: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found >= (major, minor) { Ok(format!("Linux {release}")) } else { Err(format!("Linux {release}")) }
}

fn mkfs() -> Found {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let found = std::env::split_paths(&path)
        .chain(usual)
        .map(|directory| directory.join("mkfs.ext4"))
        .find(|file| file.exists());
    found.map(|file| file.display().to_string()).ok_or_else(|| "mkfs.ext4 is not installed".to_owned())
}

fn cgroups(layout: &Layout) -> Found {
    let versions =
        |version| layout.hierarchies.iter().filter(|hierarchy| hierarchy.version == version).count();
    let found = match (versions(Version::One), versions(Version::Two)) {
        (0, 0) => return Err("no hierarchy is mounted".to_owned()),
        (0, _) => "v2",
        (_, 0) => "v1",
        _ => "hybrid",
    };
    match layout.hierarchies.iter().find(|hierarchy| access(&hierarchy.mount, Access::WRITE_OK).is_err()) {
        Some(hierarchy) => Err(format!("{} cannot be written", hierarchy.mount.display())),
        None => Ok(found.to_owned()),
    }
}

fn controller(layout: &Layout, controller: Controller) -> Found {
    match layout.with(controller) {
        Some(hierarchy) => Ok(hierarchy.mount.display().to_string()),
        None => Err("in no mounted hierarchy".to_owned()),
    }
}

fn forward_policy() -> Found {
    match network::forwarding_dropped_by() {
        Some(chain) => Err(format!("chain `{chain}` drops forwarded packets by default")),
        None => Ok("no chain drops forwarded packets by default".to_owned()),
    }
}

/// A question to the kernel that loads a module where there is one.
fn answered(result: rustix::io::Result<()>) -> Found {
    result.map(|()| "known to the kernel".to_owned()).map_err(|errno| errno.to_string())
}

fn usable(path: &str) -> Found {
    if is_there(path) { Ok(path.to_owned()) } else { Err(format!("{path} is not there")) }
}

fn is_there(path: &str) -> bool {
    Path::new(path).symlink_metadata().is_ok()
}

/// What a launch whose owner was killed has left on the host. The kernel takes everything else back by itself:
/// processes, mounts, loop devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Control groups of this name.
    Cgroups { name: String },
    /// An interface.
    Interface { name: String },
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cgroups { name } => write!(f, "cgroups {}/{name}", cgroup::PARENT),
            Self::Interface { name } => write!(f, "interface {name}"),
        }
    }
}

/// What is left of launches that are not among `live` names. A launch that is just beginning counts as left unless it
/// is named, so the caller records a name before it launches.
pub fn leftovers(live: &[&str]) -> Result<Vec<Leftover>, IsolateError> {
    let mut names = Vec::new();
    for hierarchy in Layout::of_host()?.hierarchies {
        let Ok(entries) = std::fs::read_dir(hierarchy.mount.join(cgroup::PARENT)) else { continue };
        let groups = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        names.extend(groups.filter_map(|entry| entry.file_name().into_string().ok()));
    }
    names.sort_unstable();
    names.dedup();
    let groups = names
        .into_iter()
        .filter(|name| !live.contains(&name.as_str()))
        .map(|name| Leftover::Cgroups { name });
    let in_use: Vec<String> = live.iter().map(|name| network::interface_name(name)).collect();
    let interfaces = network::host_interfaces().into_iter().filter(|name| !in_use.contains(name));
    Ok(groups.chain(interfaces.map(|name| Leftover::Interface { name })).collect())
}

/// Removes it; processes still in the groups are killed.
pub fn remove(leftover: &Leftover) -> Result<(), IsolateError> {
    match leftover {
        Leftover::Cgroups { name } => {
            let cgroups = Cgroups::open(name)?;
            cgroups.kill_all()?;
            cgroups.remove()
        }
        Leftover::Interface { name } => network::delete(name),
    }
}
