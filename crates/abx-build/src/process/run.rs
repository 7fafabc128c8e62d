//! One isolated process, its output taken line by line.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use abx_image::StagedLayer;
use abx_isolate::{
    Ids, IsolateError, Launch, Limits, Network, Process, Relays, Root, RuntimeFile, Slot, Slots, StepEnd,
    Streams, Upper,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::Worker;
use crate::canvas::{Canvas, Owner};
use crate::env;
use crate::error::BuildError;
use crate::job::Job;

/// How often a silent process is looked after.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited(u8),
    Signaled(i32),
    /// It hit the memory limit of so many MB.
    OutOfMemory(u64),
    TimedOut,
}

/// Runs `job` over the layers below; its writes go to `staged`.
pub(super) fn run(worker: &mut Worker<'_>, job: &Job, staged: &StagedLayer) -> Result<End, BuildError> {
    make_directories(&job.directories)?;
    let _lock = job.lock.as_deref().map(|path| worker.build.lock_file(path)).transpose()?;
    let canvas = Canvas::new(&worker.view, &staged.fs());
    for point in &job.mount_points {
        if !worker.view.exists(point).map_err(BuildError::state("read", point))? {
            canvas.directory(point, 0o755, Owner::ROOT).map_err(BuildError::state("make", point))?;
        }
    }
    // Held until the process has ended: its addresses follow from it.
    let slot = slot(worker)?;
    let launch = launch(worker, job, staged, slot.as_ref());
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| pipe_failed(errno.into()))?;
    let streams = Streams {
        stdin: Stdio::null(),
        stdout: Stdio::from(theirs.try_clone().map_err(pipe_failed)?),
        stderr: Stdio::from(theirs),
    };
    let relays = relays(worker, &launch.network);
    let child = abx_isolate::spawn_step(&worker.build.builder.exe, &launch, &relays, streams)
        .map_err(|source| lost(worker, source))?;
    let stopper = child.stopper()?;
    let timed_out = match follow(worker, ours) {
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
    let end = child.wait();
    worker.end_log()?;
    match end {
        _ if timed_out => Ok(End::TimedOut),
        Ok(StepEnd::Exited(status)) => Ok(End::Exited(status)),
        Ok(StepEnd::Signaled(signal)) => Ok(End::Signaled(signal)),
        Ok(StepEnd::OutOfMemory { limit }) => Ok(End::OutOfMemory(limit)),
        Err(source) => Err(lost(worker, source)),
    }
}

fn lost(worker: &Worker<'_>, source: IsolateError) -> BuildError {
    BuildError::Launch { step: Box::new(worker.build.failed(worker.step, String::new())), source }
}

/// Takes output until the last writer is gone, and says whether time ran out first.
fn follow(worker: &mut Worker<'_>, output: OwnedFd) -> Result<bool, BuildError> {
    let deadline = Instant::now() + worker.build.builder.limits.timeout;
    let mut output = std::fs::File::from(output);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        worker.build.check_stop()?;
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
            length => worker.take(&buffer[..length])?,
        }
    }
}

/// Unique on this host, in its first letters where it has an interface, since that is named by them. The
/// process is in it so that what a killed one leaves can be told from what is at work.
fn name(slot: Option<&Slot>) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    match slot {
        Some(slot) => format!("step{process}-{:x}", slot.number()),
        None => format!("step{process}-alone{}", COUNT.fetch_add(1, Ordering::Relaxed)),
    }
}

/// A place among what runs on this host; `None` where the step has no network.
fn slot(worker: &Worker<'_>) -> Result<Option<Slot>, BuildError> {
    let builder = worker.build.builder;
    if builder.offline {
        return Ok(None);
    }
    Ok(Some(Slots::of_host()?.take()?))
}

fn launch(worker: &Worker<'_>, job: &Job, staged: &StagedLayer, slot: Option<&Slot>) -> Launch {
    let builder = worker.build.builder;
    let layers = worker.build.layers.iter().map(|layer| builder.store.layer_path(layer)).collect();
    let mut binds = crate::network::bundle_binds(&builder.host, job.over_system_bundle);
    binds.extend(job.binds.iter().cloned());
    let network = slot.map_or(Network::None, |slot| Network::Veth { slot: slot.number() });
    let mut files = host_files(&network);
    files.extend(job.files.iter().cloned());
    Launch {
        name: name(slot),
        hostname: "build".to_owned(),
        root: Root { layers, upper: Upper::Dir { upper: staged.fs(), work: staged.work(), volatile: true } },
        ids: Ids::Identity,
        binds,
        files,
        limits: Limits { cpu: None, memory: builder.limits.memory, pids: builder.limits.pids },
        network,
        process: process(worker, job),
    }
}

/// Names and the host's own proxies and mirrors, where there is a network at all.
fn relays(worker: &Worker<'_>, network: &Network) -> Relays {
    match network {
        Network::None => Relays::default(),
        Network::Veth { .. } => {
            let loopback = crate::network::loopback_ports(&worker.build.builder.host);
            Relays { dns: true, ports: Vec::new(), loopback }
        }
    }
}

/// What a step reads about its host; laid over what the image has.
fn host_files(network: &Network) -> Vec<RuntimeFile> {
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

fn process(worker: &Worker<'_>, job: &Job) -> Process {
    let mut environment = worker.step.env.clone();
    for (name, value) in [("HOME", "/root"), ("USER", "root"), ("LOGNAME", "root")] {
        env::set(&mut environment, name, value);
    }
    for (name, value) in &job.env {
        if env::get(&environment, name).is_none() {
            env::set(&mut environment, name, value.clone());
        }
    }
    crate::network::add_variables(&mut environment, &worker.build.builder.host);
    Process {
        argv: job.argv.clone(),
        program: None,
        env: environment,
        cwd: PathBuf::from(&worker.step.workdir),
        uid: 0,
        gid: 0,
        groups: Vec::new(),
        is_init: false,
        no_new_privs: false,
        fds: Vec::new(),
    }
}

fn make_directories(directories: &[PathBuf]) -> Result<(), BuildError> {
    for directory in directories {
        let make = || {
            std::fs::create_dir_all(directory)?;
            std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755))
        };
        make().map_err(BuildError::state("make", directory))?;
    }
    Ok(())
}

fn pipe_failed(source: io::Error) -> BuildError {
    BuildError::State { verb: "read", path: "the output of a step".into(), source }
}
