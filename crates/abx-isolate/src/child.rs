//! The new process, from its birth in fresh namespaces to the program.

use std::convert::Infallible;
use std::ffi::CString;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::cgroup::Entry;
use crate::channel::Channel;
use crate::error::{IsolateError, system};
use crate::launch::{Launch, Upper};
use crate::program::{self, Program};
use crate::root::Ground;
use crate::{init, privileges};

/// What the child brings from its owner.
pub(crate) struct Child<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) entry: &'a Entry,
    /// Brings the user namespace, the disk if there is one, and, once the groups and the network are ready, the
    /// network namespace.
    pub(crate) channel: Channel,
    /// Where a failure is reported; closes at exec.
    pub(crate) report: OwnedFd,
    /// Where process 1 leaves the program's status.
    pub(crate) status: OwnedFd,
}

impl Child<'_> {
    /// Becomes the program, or reports why not and ends.
    pub(crate) fn run(self) -> ! {
        let mut report = std::fs::File::from(self.report.try_clone().unwrap_or_else(|_| init::end(1)));
        let Err(error) = self.become_program();
        let _ = serde_json::to_vec(&error).map(|message| report.write_all(&message));
        init::end(1);
    }

    /// The owner makes the user namespace, the disk, the groups and the network meanwhile: each is waited for where it is
    /// needed and no sooner.
    fn become_program(self) -> Result<Infallible, IsolateError> {
        let Child { launch, entry, channel, report: _report, status } = self;
        rustix::process::setsid().map_err(system("start a session"))?;
        rustix::process::umask(Mode::from_raw_mode(0o022));
        rustix::system::sethostname(launch.hostname.as_bytes()).map_err(system("set the host name"))?;
        allow_oom_kill();
        let program = Program::prepare(&launch.process, launch.ids)?;
        let entrances = open_entrances(entry)?;
        let ground = Ground::make(launch)?;
        let userns = receive(&channel)?;
        let disk = match launch.root.upper {
            Upper::Disk(_) => Some(receive(&channel)?),
            Upper::Dir { .. } => None,
        };
        let root = ground.build(launch, userns.as_fd(), disk)?;
        let netns = receive(&channel)?;
        enter_network(&netns)?;
        enter_groups(&entrances)?;
        root.enter(entry.born.is_some())?;
        enter_directory(launch)?;
        program::reset_signals();
        privileges::give_up(&launch.process, userns.as_fd())?;
        still_owned(&channel)?;
        if !launch.process.is_init {
            init::stay_behind(status)?;
        }
        program::arrange_descriptors(&launch.process.fds)?;
        Err(program.execute(&launch.process))
    }
}

/// A service manager may have made the owner one that is never killed for lack of memory; a sandbox at its limit
/// would hang instead.
fn allow_oom_kill() {
    let path = "/proc/self/oom_score_adj";
    if std::fs::read(path).is_ok_and(|score| score.starts_with(b"-")) {
        let _ = std::fs::write(path, "0");
    }
}

/// The mount points of the v1 hierarchies, as long as they can be seen; the groups may not exist yet.
fn open_entrances(entry: &Entry) -> Result<Vec<(OwnedFd, CString)>, IsolateError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |mount| {
        openat(rustix::fs::CWD, mount, flags, Mode::empty()).map_err(system("open a cgroup hierarchy"))
    };
    entry.moves.iter().map(|(mount, tasks)| Ok((open(mount)?, tasks.clone()))).collect()
}

/// Moves this process, and makes the groups it is in then the only ones it can see.
fn enter_groups(entrances: &[(OwnedFd, CString)]) -> Result<(), IsolateError> {
    let failed = || system("enter a cgroup");
    for (mount, tasks) in entrances {
        let file = openat(mount, tasks, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map_err(failed())?;
        rustix::io::write(&file, b"0").map_err(failed())?;
    }
    // SAFETY: descriptors stay shared as they are; only the cgroup namespace changes.
    unsafe { unshare_unsafe(UnshareFlags::NEWCGROUP) }.map_err(system("make a cgroup namespace"))
}

fn enter_network(netns: &OwnedFd) -> Result<(), IsolateError> {
    move_into_link_name_space(netns.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(system("join the network namespace"))
}

fn receive(channel: &Channel) -> Result<OwnedFd, IsolateError> {
    match channel.receive().map_err(system("hear from the owner"))? {
        Some(descriptor) => Ok(descriptor),
        // It gave up; nobody reads a report any more.
        None => init::end(1),
    }
}

/// The death signal holds from when it was set; an owner that died before is seen by its end of the channel.
fn still_owned(channel: &Channel) -> Result<(), IsolateError> {
    if channel.is_over().map_err(system("look for the owner"))? {
        init::end(1);
    }
    Ok(())
}

fn enter_directory(launch: &Launch) -> Result<(), IsolateError> {
    let path = &launch.process.cwd;
    rustix::process::chdir(path)
        .map_err(|errno| IsolateError::WorkingDirectory { path: path.clone(), source: errno.into() })
}
