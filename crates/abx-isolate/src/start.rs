//! From a [`Launch`] to a running process: the owner's side.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use crate::cgroup::{Cgroups, Entry, Layout};
use crate::channel::Channel;
use crate::child::Child;
use crate::error::{Feature, IsolateError, SystemError, system};
use crate::launch::{Launch, Network};
use crate::network;
use crate::relay::{Relay, Relays};
use crate::root;
use crate::running::Running;
use crate::sys::{self, Fork};
use crate::userns;

/// Those the child is born into. The user namespace, which it joins last, owns none of these, nor the network
/// namespace: nobody inside has a capability over them. The cgroup namespace is made once it is in its groups.
const NAMESPACES: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// Starts what `launch` describes and returns once the program runs.
///
/// The calling process must have a single thread, and is the sandbox's owner from then on: when the calling
/// thread ends, however it ends, the kernel kills everything inside.
pub fn launch(launch: &Launch, relays: &Relays) -> Result<Running, IsolateError> {
    require_single_thread()?;
    require_plain_name(&launch.name)?;
    let layout = Layout::of_host()?;
    layout.check(&launch.limits)?;
    let cgroups = Cgroups::plan(&launch.name, layout);
    let entry = cgroups.entry();
    let (mut running, ends) = match bear(launch, &cgroups, &entry) {
        Ok((pid, pidfd, ends)) => (Running::new(pid, pidfd, cgroups, interface(launch)), ends),
        Err(error) => {
            let _ = cgroups.remove();
            return Err(error);
        }
    };
    match finish(launch, relays, &entry, &mut running, ends) {
        Ok(()) => Ok(running),
        Err(error) => {
            running.abandon();
            Err(error)
        }
    }
}

/// Forks. The child never returns from here.
fn bear(launch: &Launch, cgroups: &Cgroups, entry: &Entry) -> Result<(Pid, OwnedFd, Ends), IsolateError> {
    let (channel, theirs) = Channel::pair().map_err(system("make a channel"))?;
    let make = || pipe_with(PipeFlags::CLOEXEC).map_err(system("make a pipe"));
    let (report, status) = (make()?, make()?);
    let born = match &entry.born {
        Some(directory) => {
            cgroups.make(&launch.limits)?;
            Some(open_group(directory)?)
        }
        None => None,
    };
    match sys::clone3(NAMESPACES, born.as_ref().map(AsFd::as_fd)).map_err(no_namespaces)? {
        Fork::Child => {
            // The child is to see the owner's end as an end.
            drop(channel);
            Child { launch, entry, channel: theirs, report: report.1, status: status.1 }.run()
        }
        Fork::Parent { pid, pidfd } => Ok((pid, pidfd, Ends { channel, report: report.0, status: status.0 })),
    }
}

/// The owner's ends of what joins it to the child.
struct Ends {
    channel: Channel,
    report: OwnedFd,
    status: OwnedFd,
}

/// Prepares while the child builds its root; then waits for it to become the program.
fn finish(
    launch: &Launch,
    relays: &Relays,
    entry: &Entry,
    running: &mut Running,
    ends: Ends,
) -> Result<(), IsolateError> {
    let prepared = prepare(launch, relays, entry, running, &ends.channel);
    if prepared.is_err() {
        drop(ends.channel);
    }
    // What the child says comes first: it may have failed for a reason of its own meanwhile.
    hear(ends.report)?;
    let relay = prepared?;
    if !launch.process.is_init {
        running.expect_status(ends.status);
    }
    running.serve(relay)
}

/// The child has to build mounts meanwhile, so what it waits for first is made first.
fn prepare(
    launch: &Launch,
    relays: &Relays,
    entry: &Entry,
    running: &Running,
    channel: &Channel,
) -> Result<Relay, IsolateError> {
    let hand_over =
        |descriptor: &OwnedFd| channel.send(descriptor.as_fd()).map_err(system("hand something over"));
    hand_over(&userns::create(launch.ids)?)?;
    if let Some(disk) = root::prepare_disk(&launch.root.upper, launch.ids)? {
        hand_over(&disk)?;
    }
    if entry.born.is_none() {
        running.cgroups().make(&launch.limits)?;
    }
    let netns = network::create(&launch.name, &launch.network)?;
    let relay = Relay::bind(relays, &launch.network, netns)?;
    hand_over(relay.netns())?;
    Ok(relay)
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

/// In the child of a process with threads, a lock may be held for ever by a thread that is not there.
fn require_single_thread() -> Result<(), IsolateError> {
    let tasks = std::fs::metadata("/proc/self/task").map_err(system("count threads"))?;
    // A directory has two links more than it has directories in it.
    match tasks.nlink().saturating_sub(2) {
        1 => Ok(()),
        threads => Err(IsolateError::Threaded { threads }),
    }
}

/// It becomes part of paths and of an interface's name.
fn require_plain_name(name: &str) -> Result<(), IsolateError> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(plain) {
        return Err(IsolateError::Name { name: name.to_owned() });
    }
    Ok(())
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
