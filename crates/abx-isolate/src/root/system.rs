//! /proc, /sys, /dev and /run as a sandbox sees them.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mkdirat, mknodat, openat, symlinkat};
use rustix::io::{Errno, Result};
use rustix::mount::MountAttrFlags;

use super::inside::{Inside, give};
use super::staging::{Staging, attach, attach_over, clone_tree, new_mount};
use crate::error::{IsolateError, mounting};
use crate::launch::Launch;
use crate::sys;

/// What of /proc tells about, or changes, the host.
const HIDDEN_FILES: [&str; 5] = ["kcore", "keys", "timer_list", "sched_debug", "latency_stats"];
const HIDDEN_DIRECTORIES: [&str; 3] = ["acpi", "asound", "scsi"];
const READ_ONLY: [&str; 6] = ["bus", "dynamic_debug", "fs", "irq", "sys", "sysrq-trigger"];
/// The same of /sys, which is read-only as a whole.
const HIDDEN_IN_SYS: [&str; 2] = ["firmware", "devices/virtual/powercap"];

/// Name, major and minor number.
const DEVICES: [(&str, u32, u32); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];
const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
    ("pts/ptmx", "ptmx"),
];

const CLOSED: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID
    .union(MountAttrFlags::MOUNT_ATTR_NODEV)
    .union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// The group of terminals in every distribution.
const TTY_GROUP: u32 = 5;

/// All but /sys, put together in the staging tree while the root itself is still to come.
pub(crate) struct Furniture {
    pub(crate) masks: Masks,
    /// Each with its place.
    trees: [(PathBuf, OwnedFd); 3],
}

impl Furniture {
    pub(crate) fn make(staging: &Staging, launch: &Launch) -> std::result::Result<Self, IsolateError> {
        let masks = Masks::new(staging).map_err(mounting("masks"))?;
        let proc = make_proc(staging, &masks).map_err(mounting("/proc"))?;
        let dev = make_dev(staging, launch).map_err(mounting("/dev"))?;
        let run = make_run(staging, launch).map_err(mounting("/run"))?;
        let trees = [("/proc".into(), proc), ("/dev".into(), dev), (launch.fleeting().to_owned(), run)];
        Ok(Self { masks, trees })
    }

    /// Moves all to where they belong.
    pub(crate) fn place(&self, inside: &Inside<'_>) -> std::result::Result<(), IsolateError> {
        self.trees.iter().try_for_each(|(path, tree)| {
            let failed = || mounting(path.display().to_string());
            let target = inside.directory(path).map_err(failed())?;
            attach_over(tree, target).map_err(failed())
        })
    }
}

/// What is laid over hidden places: the null device over files, an empty directory over directories.
pub(crate) struct Masks {
    file: OwnedFd,
    directory: OwnedFd,
}

impl Masks {
    pub(crate) fn new(staging: &Staging) -> Result<Self> {
        make_device(&staging.tree, "null", 1, 3)?;
        staging.directory("empty")?;
        Ok(Self { file: staging.open("null")?, directory: staging.open("empty")? })
    }

    fn hide_file(&self, directory: &OwnedFd, path: &str) -> Result<()> {
        Self::lay(&self.file, directory, path)
    }

    fn hide_directory(&self, directory: &OwnedFd, path: &str) -> Result<()> {
        Self::lay(&self.directory, directory, path)
    }

    fn lay(mask: &OwnedFd, directory: &OwnedFd, path: &str) -> Result<()> {
        let Some(target) = find(directory, path)? else { return Ok(()) };
        let tree = clone_tree(mask, "", false)?;
        let set = sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NOEXEC;
        sys::mount_setattr(&tree, set, None, false)?;
        attach_over(&tree, target)
    }
}

/// Kernels differ in what is there at all.
fn find(directory: &OwnedFd, path: &str) -> Result<Option<OwnedFd>> {
    match openat(directory, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(target) => Ok(Some(target)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn make_proc(staging: &Staging, masks: &Masks) -> Result<OwnedFd> {
    let tree = new_mount("proc", &[], CLOSED)?;
    staging.keep(&tree, "proc")?;
    for path in READ_ONLY {
        let Some(target) = find(&tree, path)? else { continue };
        let copy = clone_tree(&target, "", false)?;
        sys::mount_setattr(&copy, sys::MOUNT_ATTR_RDONLY, None, false)?;
        attach_over(&copy, target)?;
    }
    HIDDEN_FILES.iter().try_for_each(|path| masks.hide_file(&tree, path))?;
    HIDDEN_DIRECTORIES.iter().try_for_each(|path| masks.hide_directory(&tree, path))?;
    Ok(tree)
}

/// A new instance shows the devices of the network namespace it is mounted in. With v2 groups the sandbox's own is
/// shown as the root, to be read: runtimes size their heaps and pools by it.
pub(crate) fn mount_sys(inside: &Inside<'_>, masks: &Masks, unified: bool) -> Result<()> {
    let read_only = CLOSED | MountAttrFlags::MOUNT_ATTR_RDONLY;
    let tree = new_mount("sysfs", &[], read_only)?;
    attach_over(&tree, inside.directory(Path::new("/sys"))?)?;
    if unified {
        attach(&new_mount("cgroup2", &[], read_only)?, &tree, "fs/cgroup")?;
    }
    HIDDEN_IN_SYS.iter().try_for_each(|path| masks.hide_directory(&tree, path))
}

fn make_dev(staging: &Staging, launch: &Launch) -> Result<OwnedFd> {
    let owner = launch.ids.root().to_string();
    let options = [("mode", "0755"), ("size", "64k"), ("uid", &owner), ("gid", &owner)];
    let open = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let tree = new_mount("tmpfs", &options, open)?;
    for (name, major, minor) in DEVICES {
        make_device(&tree, name, major, minor)?;
        give(launch.ids, tree.as_fd(), OsStr::new(name))?;
    }
    for (target, name) in LINKS {
        symlinkat(target, &tree, name)?;
    }
    for name in ["pts", "shm", "mqueue"] {
        mkdirat(&tree, name, Mode::from_raw_mode(0o755))?;
    }
    staging.keep(&tree, "dev")?;

    let group = (launch.ids.root() + TTY_GROUP).to_string();
    let terminals = [("ptmxmode", "0666"), ("mode", "0620"), ("gid", &group)];
    let no_programs = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    attach(&new_mount("devpts", &terminals, no_programs)?, &tree, "pts")?;
    let shared = [("mode", "1777"), ("uid", &owner), ("gid", &owner), ("size", &memory_share(launch))];
    attach(&new_mount("tmpfs", &shared, CLOSED)?, &tree, "shm")?;
    attach(&new_mount("mqueue", &[], CLOSED)?, &tree, "mqueue")?;
    Ok(tree)
}

/// A device by number; where the host may not make one (inside a container), the host's own is bound.
fn make_device(directory: &OwnedFd, name: &str, major: u32, minor: u32) -> Result<()> {
    let number = makedev(major, minor);
    match mknodat(directory, name, FileType::CharacterDevice, Mode::from_raw_mode(0o666), number) {
        Err(Errno::PERM) => {
            let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
            openat(directory, name, flags, Mode::from_raw_mode(0o666))?;
            attach(&clone_tree(CWD, format!("/dev/{name}"), false)?, directory, name)
        }
        // mknod heeds the umask.
        Ok(()) => {
            rustix::fs::chmodat(directory, name, Mode::from_raw_mode(0o666), rustix::fs::AtFlags::empty())
        }
        result => result,
    }
}

fn make_run(staging: &Staging, launch: &Launch) -> Result<OwnedFd> {
    let owner = launch.ids.root().to_string();
    let options = [("mode", "0755"), ("uid", &owner), ("gid", &owner), ("size", &memory_share(launch))];
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = new_mount("tmpfs", &options, attributes)?;
    staging.keep(&tree, "run")?;
    Ok(tree)
}

/// Half of the memory limit, as the kernel's default is half of all memory. What is stored counts towards
/// the limit either way.
fn memory_share(launch: &Launch) -> String {
    launch.limits.memory.map_or("64m".to_owned(), |limit| format!("{}k", limit.max(2) * 512))
}
