//! The user namespace of one sandbox, made before anything runs in it.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Signal, kill_process};

use crate::error::{Feature, IsolateError, system};
use crate::launch::Ids;
use crate::sys;

/// Ids 0…65535 exist inside.
pub(crate) const ID_COUNT: u32 = 65536;

impl Ids {
    /// The host id of root inside.
    pub fn root(self) -> u32 {
        match self {
            Self::Identity => 0,
            Self::Range { base } => base,
        }
    }
}

/// Makes a user namespace with the mapping of `ids`.
///
/// A process has to be in it while its maps are written: a child that shares our memory and only waits,
/// which costs a third of a fork.
pub(crate) fn create(ids: Ids) -> Result<OwnedFd, IsolateError> {
    let mut stack = [0u128; 256];
    let top = stack.as_mut_ptr_range().end;
    let owner = std::process::id() as usize;
    // SAFETY: the child runs `hold` on its own stack, which outlives it (we reap it below), and touches
    // nothing but that stack.
    let raw = unsafe { libc::clone(hold, top.cast(), libc::CLONE_VM | libc::CLONE_NEWUSER, owner as *mut _) };
    if raw == -1 {
        return Err(lacking(sys::last_errno()));
    }
    let holder = sys::to_pid(raw);
    let userns = map(raw, ids);
    let _ = kill_process(holder, Signal::KILL);
    reap(raw);
    userns
}

/// Waits to be killed, at the latest by the end of its owner.
extern "C" fn hold(owner: *mut libc::c_void) -> libc::c_int {
    // SAFETY: neither call touches memory.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        while libc::getppid() as usize == owner as usize {
            libc::pause();
        }
    }
    0
}

fn map(pid: i32, ids: Ids) -> Result<OwnedFd, IsolateError> {
    let line = format!("0 {} {ID_COUNT}", ids.root());
    for file in ["uid_map", "gid_map"] {
        std::fs::write(format!("/proc/{pid}/{file}"), &line)
            .map_err(system("map ids into the user namespace"))?;
    }
    let namespace = File::open(format!("/proc/{pid}/ns/user")).map_err(system("open the user namespace"))?;
    Ok(namespace.into())
}

fn reap(pid: i32) {
    // The holder has no exit signal, so that its end wakes nobody; only __WALL sees it.
    loop {
        // SAFETY: no status is asked for.
        let result = unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
        if result != -1 || sys::last_errno() != Errno::INTR {
            return;
        }
    }
}

fn lacking(errno: Errno) -> IsolateError {
    let feature = if errno == Errno::PERM { Feature::Root } else { Feature::UserNamespaces };
    IsolateError::Lacks { feature, source: errno.into() }
}
