//! One program run to its end in a helper process, for callers that have threads.
//!
//! ```text
//! caller ── spawn_step ──▶ helper (this program again, hidden subcommand) ── launch ──▶ the program
//!        ◀─ socket: request, then report ─▶      owner of the sandbox
//! ```
//!
//! The socket is also the lifeline: when the caller ends or lets go of it, the helper kills the program and
//! cleans up; when the helper is killed, the kernel kills the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use serde::{Deserialize, Serialize};

use crate::error::{IsolateError, system};
use crate::launch::Launch;
use crate::relay::Relays;
use crate::running::{Ended, Running};

/// The argument that makes the program at `exe` call [`run_helper`].
pub const HELPER: &str = "isolate-step";

/// The helper's name in a list of processes, where `exe` may be a link that tells nobody anything.
const NAME: &str = "abx-step";

/// The helper's end of the socket.
const SOCKET: i32 = 3;

/// What the program's standard streams are connected to.
pub struct Streams {
    pub stdin: Stdio,
    pub stdout: Stdio,
    pub stderr: Stdio,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepEnd {
    /// With this status.
    Exited(u8),
    /// By this signal.
    Signaled(i32),
    /// The kernel killed a process of it for exceeding the memory limit, and it failed.
    OutOfMemory {
        /// The limit in MB.
        limit: u64,
    },
}

/// A step that runs. Dropping it ends the step.
#[derive(Debug)]
pub struct StepChild {
    helper: Child,
    socket: UnixStream,
}

#[derive(Serialize, Deserialize)]
struct Request {
    launch: Launch,
    relays: Relays,
}

/// Runs `launch` in a helper: `exe HELPER`, which must call [`run_helper`] before it starts any thread.
pub fn spawn_step(
    exe: &Path,
    launch: &Launch,
    relays: &Relays,
    streams: Streams,
) -> Result<StepChild, IsolateError> {
    let (mut ours, theirs) = UnixStream::pair().map_err(system("make a socket"))?;
    let mut command = Command::new(exe);
    // Tokens of the caller's are no business of a process so near to the step.
    command
        .env_clear()
        .arg0(NAME)
        .arg(HELPER)
        .stdin(streams.stdin)
        .stdout(streams.stdout)
        .stderr(streams.stderr);
    let theirs_number = theirs.as_raw_fd();
    // SAFETY: the closure makes two system calls and touches no memory.
    unsafe { command.pre_exec(move || hand_down(theirs_number)) };
    let helper =
        command.spawn().map_err(|error| IsolateError::File { path: exe.to_owned(), source: error.into() })?;
    drop(theirs);
    let request = Request { launch: launch.clone(), relays: relays.clone() };
    let mut line = serde_json::to_vec(&request).map_err(garbled)?;
    line.push(b'\n');
    let child = StepChild { helper, socket: ours.try_clone().map_err(system("share a socket"))? };
    ours.write_all(&line).map_err(system("hand the step to its helper"))?;
    Ok(child)
}

/// Puts the socket where the helper expects it, to be kept across exec.
fn hand_down(socket: i32) -> std::io::Result<()> {
    // SAFETY: numbers only; the child has its own table of descriptors.
    let result = unsafe {
        if socket == SOCKET { libc::fcntl(socket, libc::F_SETFD, 0) } else { libc::dup2(socket, SOCKET) }
    };
    if result == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

impl StepChild {
    /// The helper's process id.
    pub fn id(&self) -> u32 {
        self.helper.id()
    }

    /// The other end of the program's stdin, where it was piped; once.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.helper.stdin.take()
    }

    /// The other end of the program's stdout, where it was piped; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.helper.stdout.take()
    }

    /// The other end of the program's stderr, where it was piped; once.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.helper.stderr.take()
    }

    /// A handle that ends the step from another thread.
    pub fn stopper(&self) -> Result<Stopper, IsolateError> {
        Ok(Stopper { socket: self.socket.try_clone().map_err(system("share a socket"))? })
    }

    /// Waits for the end; everything on the host is cleaned up by then.
    pub fn wait(mut self) -> Result<StepEnd, IsolateError> {
        let mut report = Vec::new();
        let heard = self.socket.read_to_end(&mut report);
        self.helper.wait().map_err(system("wait for the step's helper"))?;
        heard.map_err(system("hear from the step's helper"))?;
        if report.is_empty() {
            return Err(IsolateError::Silent);
        }
        serde_json::from_slice::<Result<StepEnd, IsolateError>>(&report).map_err(garbled)?
    }
}

impl Drop for StepChild {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        let _ = self.helper.wait();
    }
}

/// Ends a step: the program is killed, and [`StepChild::wait`] returns [`IsolateError::Silent`] once all is
/// cleaned up.
#[derive(Debug)]
pub struct Stopper {
    socket: UnixStream,
}

impl Stopper {
    pub fn stop(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// The helper's whole life. Returns its exit status; the report on the socket is what counts.
///
/// To be called in a process with one thread whose descriptor 3 is the socket of [`spawn_step`].
pub fn run_helper() -> u8 {
    let _ = rustix::thread::set_name(c"abx-step");
    // SAFETY: `spawn_step` left the socket there and nothing else owns it.
    let socket = UnixStream::from(unsafe { OwnedFd::from_raw_fd(SOCKET) });
    let result = run(&socket);
    let failed = result.is_err();
    let _ = serde_json::to_vec(&result).map(|report| (&socket).write_all(&report));
    u8::from(failed)
}

fn run(socket: &UnixStream) -> Result<StepEnd, IsolateError> {
    rustix::io::fcntl_setfd(socket, rustix::io::FdFlags::CLOEXEC).map_err(system("keep the socket"))?;
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).map_err(system("read the step"))?;
    let request: Request = serde_json::from_str(&line).map_err(garbled)?;
    drop(line);
    let mut running = crate::start::launch(&request.launch, &request.relays)?;
    let ended = wait_or_stop(&mut running, socket)?;
    let end = judge(&request.launch, &running, ended);
    running.cleanup()?;
    Ok(end)
}

/// Waits for the program; the end of the caller's side of the socket ends it.
fn wait_or_stop(running: &mut Running, socket: &UnixStream) -> Result<Ended, IsolateError> {
    loop {
        let mut polled =
            [PollFd::from_borrowed_fd(running.pidfd(), PollFlags::IN), PollFd::new(socket, PollFlags::IN)];
        rustix::io::retry_on_intr(|| poll(&mut polled, None)).map_err(system("wait for the step"))?;
        let gone = !polled[1].revents().is_empty();
        if let Some(ended) = running.try_wait()? {
            return Ok(ended);
        }
        if gone {
            running.kill();
            return running.wait();
        }
    }
}

fn judge(launch: &Launch, running: &Running, ended: Ended) -> StepEnd {
    let failed = ended != Ended::Exited(0);
    match launch.limits.memory {
        Some(limit) if failed && running.cgroups().stats().oom_kills > 0 => StepEnd::OutOfMemory { limit },
        _ => match ended {
            Ended::Exited(status) => StepEnd::Exited(status),
            Ended::Signaled(signal) => StepEnd::Signaled(signal),
        },
    }
}

fn garbled(error: serde_json::Error) -> IsolateError {
    IsolateError::Garbled { message: error.to_string() }
}
