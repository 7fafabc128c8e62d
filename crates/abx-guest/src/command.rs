//! Starting one process: as whom, where, with what in its hands.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use abx_protocol::process::PtySize;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, getuid, setsid};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::channel::Channel;
use crate::guest::Guest;
use crate::pty;
use crate::reaper::Watched;
use crate::users::User;

/// What to start.
pub(crate) struct Command<'a> {
    /// Looked up in the PATH of `env` where it has no slash.
    pub(crate) program: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) directory: &'a Path,
    pub(crate) user: &'a User,
    pub(crate) terminal: Terminal,
}

/// What it gets as its standard streams.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Terminal {
    /// Pipes; its input is `/dev/null` unless wanted.
    None { stdin: bool },
    /// A new terminal, which controls its session.
    Pty(PtySize),
}

/// A process that runs, leader of its own session and process group.
pub(crate) struct Child {
    pub(crate) pid: Pid,
    pub(crate) watched: Watched,
    pub(crate) ends: Ends,
}

/// Our ends of its streams.
pub(crate) enum Ends {
    Pipes { stdin: Option<Channel>, stdout: Channel, stderr: Channel },
    Pty(Channel),
}

/// Why a process does not run.
#[derive(Debug)]
pub(crate) enum SpawnError {
    NotFound,
    NotExecutable,
    /// No pipe, no terminal, no process to be had, or no right to become the user.
    Io(io::Error),
}

impl From<io::Error> for SpawnError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl SpawnError {
    /// From `execve`'s error. It has no EPERM of its own: that one is about becoming the user.
    fn of_exec(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ELOOP) => Self::NotFound,
            Some(libc::EACCES | libc::EISDIR | libc::ENOEXEC) => Self::NotExecutable,
            _ => Self::Io(error),
        }
    }
}

impl Command<'_> {
    /// Starts it. The directory must exist.
    pub(crate) fn spawn(self, guest: &Guest) -> Result<Child, SpawnError> {
        let mut command = std::process::Command::new(self.program);
        command.args(self.args).env_clear().envs(self.env).current_dir(self.directory);
        let ends = match self.terminal {
            Terminal::None { stdin } => attach_pipes(&mut command, stdin)?,
            Terminal::Pty(size) => attach_pty(&mut command, size, self.user)?,
        };
        let controls_terminal = matches!(self.terminal, Terminal::Pty(_));
        let becoming = Becoming { controls_terminal, ..Becoming::of(guest, self.user) };
        // SAFETY: `Becoming::apply` makes system calls only; it neither allocates nor takes a lock.
        unsafe { command.pre_exec(move || becoming.apply()) };
        let child = spawn_patiently(&mut command).map_err(SpawnError::of_exec)?;
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a child has a number");
        Ok(Child { pid, watched: guest.reaper.watch(pid), ends })
    }
}

/// Starts it, again for a moment where the program's file is open for writing: a file that was just written here
/// is also held by whichever process was forked at that instant, until it executes its own program.
fn spawn_patiently(command: &mut std::process::Command) -> io::Result<std::process::Child> {
    for milliseconds in [1, 2, 4, 8, 16, 32] {
        match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(milliseconds));
            }
            result => return result,
        }
    }
    command.spawn()
}

fn attach_pipes(command: &mut std::process::Command, stdin: bool) -> io::Result<Ends> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC);
    let stdin = if stdin {
        let (theirs, ours) = pipe()?;
        command.stdin(Stdio::from(theirs));
        Some(Channel::new(ours)?)
    } else {
        command.stdin(Stdio::null());
        None
    };
    let (stdout, theirs) = pipe()?;
    command.stdout(Stdio::from(theirs));
    let (stderr, theirs) = pipe()?;
    command.stderr(Stdio::from(theirs));
    Ok(Ends::Pipes { stdin, stdout: Channel::new(stdout)?, stderr: Channel::new(stderr)? })
}

fn attach_pty(command: &mut std::process::Command, size: PtySize, user: &User) -> io::Result<Ends> {
    let (ours, theirs) = pty::open(size, user)?;
    command.stdin(Stdio::from(theirs.try_clone()?));
    command.stdout(Stdio::from(theirs.try_clone()?));
    command.stderr(Stdio::from(theirs));
    Ok(Ends::Pty(Channel::new(ours)?))
}

/// What happens between fork and exec.
pub(crate) struct Becoming {
    /// Absent where we are not root and so can only start processes as ourselves.
    credentials: Option<Credentials>,
    controls_terminal: bool,
    resets_oom_score: bool,
}

struct Credentials {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Credentials {
    fn of(user: &User) -> Self {
        Self {
            uid: Uid::from_raw(user.uid),
            gid: Gid::from_raw(user.gid),
            groups: user.groups.iter().copied().map(Gid::from_raw).collect(),
        }
    }
}

impl Becoming {
    /// The user, without a terminal.
    pub(crate) fn of(guest: &Guest, user: &User) -> Self {
        Self {
            credentials: getuid().is_root().then(|| Credentials::of(user)),
            controls_terminal: false,
            resets_oom_score: guest.resets_oom_score,
        }
    }

    /// Makes system calls only; it neither allocates nor takes a lock.
    pub(crate) fn apply(&self) -> io::Result<()> {
        setsid()?;
        if self.controls_terminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        if self.resets_oom_score {
            reset_oom_score();
        }
        for signal in 1..32 {
            // SAFETY: SIG_DFL is a valid disposition; KILL and STOP refuse it, which does no harm.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        if let Some(Credentials { uid, gid, groups }) = &self.credentials {
            match set_thread_groups(groups) {
                // A namespace made without privilege forbids it; root inside loses nothing by keeping its groups.
                Err(Errno::PERM) if uid.is_root() => {}
                result => result?,
            }
            set_thread_res_gid(*gid, *gid, *gid)?;
            set_thread_res_uid(*uid, *uid, *uid)?;
        }
        Ok(())
    }
}

fn reset_oom_score() {
    use rustix::fs::{Mode, OFlags, open};
    if let Ok(file) = open(c"/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        // Where it fails the process is merely spared for longer than its due.
        let _ = rustix::io::write(&file, b"0");
    }
}
