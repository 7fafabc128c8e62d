//! One isolated process, its output taken as it comes.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use abx_isolate::{
    IsolateError, Launch, Network, Relays, RuntimeFile, Slot, Slots, StepChild, StepEnd, Streams,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::builder::Builder;
use crate::builder::workshop::Workshop;
use crate::error::BuildError;

/// How often a silent process is looked after.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exited(u8),
    Signaled(i32),
    /// It hit the memory limit of so many MB.
    OutOfMemory(u64),
    TimedOut,
}

/// Takes what a process has written.
pub(crate) type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), BuildError>;

/// Runs `launch` to its end. The inner error is one of the isolation: the process could not be started, or was lost.
pub(crate) fn run(
    workshop: &Workshop<'_>,
    launch: &Launch,
    take: Take<'_>,
) -> Result<Result<End, IsolateError>, BuildError> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| pipe_failed(errno.into()))?;
    let streams = Streams {
        stdin: Stdio::null(),
        stdout: Stdio::from(theirs.try_clone().map_err(pipe_failed)?),
        stderr: Stdio::from(theirs),
    };
    let relays = relays(workshop.builder, &launch.network);
    match abx_isolate::spawn_step(&workshop.builder.exe, launch, &relays, streams) {
        Ok(child) => attend(workshop, child, ours, take),
        Err(source) => Ok(Err(source)),
    }
}

fn attend(
    workshop: &Workshop<'_>,
    child: StepChild,
    output: OwnedFd,
    take: Take<'_>,
) -> Result<Result<End, IsolateError>, BuildError> {
    let stopper = child.stopper()?;
    let timed_out = match follow(workshop, output, take) {
        Ok(timed_out) => timed_out,
        Err(error) => {
            stopper.stop();
            let _ = child.wait();
            return Err(error);
        }
    };
    if timed_out {
        stopper.stop();
    }
    Ok(match child.wait() {
        _ if timed_out => Ok(End::TimedOut),
        Ok(StepEnd::Exited(status)) => Ok(End::Exited(status)),
        Ok(StepEnd::Signaled(signal)) => Ok(End::Signaled(signal)),
        Ok(StepEnd::OutOfMemory { limit }) => Ok(End::OutOfMemory(limit)),
        Err(source) => Err(source),
    })
}

/// Takes output until the last writer is gone, and says whether time ran out first.
fn follow(workshop: &Workshop<'_>, output: OwnedFd, take: Take<'_>) -> Result<bool, BuildError> {
    let deadline = Instant::now() + workshop.builder.limits.timeout;
    let mut output = std::fs::File::from(output);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        workshop.check_stop()?;
        if Instant::now() >= deadline {
            return Ok(true);
        }
        let mut polled = [PollFd::new(&output, PollFlags::IN)];
        let ready = rustix::io::retry_on_intr(|| poll(&mut polled, Some(&PAUSE)));
        if ready.map_err(|errno| pipe_failed(errno.into()))? == 0 {
            continue;
        }
        match output.read(&mut buffer).map_err(pipe_failed)? {
            0 => return Ok(false),
            length => take(&buffer[..length])?,
        }
    }
}

/// Unique on this host, in its first letters where it has an interface, since that is named by them. The
/// process is in it so that what a killed one leaves can be told from what is at work.
pub(crate) fn name(slot: Option<&Slot>) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    match slot {
        Some(slot) => format!("step{process}-{:x}", slot.number()),
        None => format!("step{process}-alone{}", COUNT.fetch_add(1, Ordering::Relaxed)),
    }
}

/// A place among what runs on this host, to be held until the process has ended: its addresses follow from it.
/// `None` where the step has no network.
pub(crate) fn slot(builder: &Builder) -> Result<Option<Slot>, BuildError> {
    if builder.offline { Ok(None) } else { Ok(Some(Slots::of_host()?.take()?)) }
}

/// The network that goes with a slot.
pub(crate) fn network(slot: Option<&Slot>) -> Network {
    slot.map_or(Network::None, |slot| Network::Veth { slot: slot.number() })
}

/// Names and the host's own proxies and mirrors, where there is a network at all.
fn relays(builder: &Builder, network: &Network) -> Relays {
    match network {
        Network::None => Relays::default(),
        Network::Veth { .. } => {
            let loopback = crate::network::loopback_ports(&builder.host);
            Relays { dns: true, loopback, ..Relays::default() }
        }
    }
}

/// What a step reads about its host; laid over what the image has.
pub(crate) fn host_files(network: &Network) -> Vec<RuntimeFile> {
    let file = |path: &str, content: String| RuntimeFile { path: path.into(), content, mode: 0o644 };
    let mut files = vec![
        file("/etc/hosts", "127.0.0.1 localhost build\n::1 localhost ip6-localhost ip6-loopback\n".into()),
        file("/etc/hostname", "build\n".into()),
    ];
    if let Network::Veth { .. } = network {
        let of_host = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        files.push(file("/etc/resolv.conf", abx_isolate::resolv_conf(&of_host)));
    }
    files
}

fn pipe_failed(source: io::Error) -> BuildError {
    BuildError::State { verb: "read", path: "the output of a step".into(), source }
}
