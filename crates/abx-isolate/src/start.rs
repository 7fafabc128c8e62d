//! From a [`Launch`] to a running process: the owner's side.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use crate::cgroup::{Cgroups, Entry, Layout};
use crate::child::Child;
use crate::error::{Feature, IsolateError, SystemError, system};
use crate::launch::{Launch, Network};
use crate::network::{self, netns};
use crate::relay::Relay;
use crate::relay::Relays;
use crate::running::Running;
use crate::sys::{self, Fork};
use crate::userns;

/// All but the cgroup namespace, which is made once the process is in its groups, and the user namespace,
/// which owns none of these: nobody inside has a capability over them.
const NAMESPACES: i32 =
    libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | libc::CLONE_NEWNET;

/// Starts what `launch` describes and returns once the program runs.
///
/// The calling process must have a single thread, and is the sandbox's owner from then on: when the calling
/// thread ends, however it ends, the kernel kills everything inside.
pub fn launch(launch: &Launch, relays: &Relays) -> Result<Running, IsolateError> {
    require_single_thread()?;
    let layout = Layout::of_host()?;
    layout.check(&launch.limits)?;
    let userns = userns::create(launch.ids)?;
    let cgroups = Cgroups::plan(&launch.name, layout);
    let pipes = Pipes::new().map_err(system("make a pipe"))?;
    let entry = cgroups.entry();
    let born = match &entry.born {
        Some(directory) => {
            cgroups.make(&launch.limits)?;
            Some(open_group(directory)?)
        }
        None => None,
    };
    let (pid, pidfd) = match sys::clone3(NAMESPACES, born.as_ref().map(AsFd::as_fd)) {
        Ok(Fork::Child) => pipes.into_child(launch, userns, &entry).run(),
        Ok(Fork::Parent { pid, pidfd }) => (pid, pidfd),
        Err(errno) => {
            let _ = cgroups.remove();
            return Err(no_namespaces(errno));
        }
    };
    drop(userns);
    let owner = pipes.into_owner();
    let status = (!launch.process.is_init).then_some(owner.status);
    let mut running = Running::new(pid, pidfd, cgroups, status, interface(launch));
    match finish(launch, relays, &entry, &mut running, owner.go, owner.report) {
        Ok(()) => Ok(running),
        Err(error) => {
            running.abandon();
            Err(error)
        }
    }
}

/// Prepares while the child builds its root; then waits for it to become the program.
fn finish(
    launch: &Launch,
    relays: &Relays,
    entry: &Entry,
    running: &mut Running,
    go: OwnedFd,
    report: OwnedFd,
) -> Result<(), IsolateError> {
    let prepared = prepare(launch, relays, entry, running);
    if prepared.is_ok() {
        // A child that failed has closed its end.
        let _ = rustix::io::write(&go, b"g");
    } else {
        drop(go);
    }
    // What the child says comes first: where it died early, we may have failed for that very reason.
    hear(report)?;
    running.serve(prepared?)
}

/// Groups, network and relays; without a process of the sandbox's having run anything yet.
fn prepare(
    launch: &Launch,
    relays: &Relays,
    entry: &Entry,
    running: &Running,
) -> Result<Relay, IsolateError> {
    if entry.born.is_none() {
        running.cgroups().make(&launch.limits)?;
    }
    let netns = netns::of_process(running.pid()).map_err(network::failed("open the namespace"))?;
    network::set_up(&launch.name, &launch.network, netns.as_fd())?;
    Relay::bind(relays, netns)
}

/// Waits for the report to end: with nothing said, the child has become the program.
fn hear(report: OwnedFd) -> Result<(), IsolateError> {
    let mut message = Vec::new();
    std::fs::File::from(report).read_to_end(&mut message).map_err(system("hear from the sandbox"))?;
    if message.is_empty() {
        return Ok(());
    }
    Err(serde_json::from_slice(&message)
        .unwrap_or_else(|error| IsolateError::Garbled { message: error.to_string() }))
}

/// The host's end of the sandbox's network, if it has one.
fn interface(launch: &Launch) -> Option<String> {
    match launch.network {
        Network::None => None,
        Network::Veth { .. } => Some(network::interface_name(&launch.name)),
    }
}

struct Pipes {
    go: (OwnedFd, OwnedFd),
    report: (OwnedFd, OwnedFd),
    status: (OwnedFd, OwnedFd),
}

struct OwnerEnds {
    go: OwnedFd,
    report: OwnedFd,
    status: OwnedFd,
}

impl Pipes {
    fn new() -> rustix::io::Result<Self> {
        let make = || pipe_with(PipeFlags::CLOEXEC);
        Ok(Self { go: make()?, report: make()?, status: make()? })
    }

    fn into_child<'a>(self, launch: &'a Launch, userns: OwnedFd, entry: &'a Entry) -> Child<'a> {
        // The owner's ends are dropped here, so that the child sees the owner's end as an end.
        Child { launch, userns, entry, go: self.go.0, report: self.report.1, status: self.status.1 }
    }

    fn into_owner(self) -> OwnerEnds {
        OwnerEnds { go: self.go.1, report: self.report.0, status: self.status.0 }
    }
}

/// In the child of a process with threads, a lock may be held for ever by a thread that is not there.
fn require_single_thread() -> Result<(), IsolateError> {
    let tasks = std::fs::metadata("/proc/self/task").map_err(system("count threads"))?;
    // A directory has two links more than it has directories in it.
    match tasks.nlink().saturating_sub(2) {
        1 => Ok(()),
        threads => Err(IsolateError::Threaded { threads }),
    }
}

fn open_group(directory: &std::path::Path) -> Result<OwnedFd, IsolateError> {
    openat(CWD, directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(system("open the cgroup"))
}

fn no_namespaces(errno: Errno) -> IsolateError {
    let root = rustix::process::geteuid().is_root();
    let feature = if errno == Errno::PERM && !root { Feature::Root } else { Feature::Namespaces };
    IsolateError::Lacks { feature, source: SystemError::from(errno) }
}

/// The id of a process as other tools want it.
pub(crate) fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get() as u32
}
