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
/// It belongs to root inside. What the kernel counts by user (inotify instances and watches, message queues,
/// locked memory) it counts for everybody inside towards the owner of their namespace too, and stops there at the
/// host's limit for one user: were it the host's root, one sandbox could use up what all of the host has.
///
/// A process has to be in it while its maps are written: a child that shares our memory and only waits,
/// which costs a third of a fork.
pub(crate) fn create(ids: Ids) -> Result<OwnedFd, IsolateError> {
    let _owner = Effective::become_root_of(ids)?;
    with_map(&format!("0 {} {ID_COUNT}", ids.root()))
}

/// Makes a user namespace through which a mount shows files that carry the ids of `carried` as if they carried those of
/// `shown`. The host's root stays itself: an overlay makes its marks as who mounted it.
pub(crate) fn between(carried: Ids, shown: Ids) -> Result<OwnedFd, IsolateError> {
    with_map(&format!("0 0 1\n{} {} {ID_COUNT}", carried.root(), shown.root()))
}

/// Makes one with these lines in both its maps.
fn with_map(lines: &str) -> Result<OwnedFd, IsolateError> {
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
    let userns = map(raw, lines);
    let _ = kill_process(holder, Signal::KILL);
    reap(raw);
    userns
}

/// The calling thread's effective user is another for a while; its capabilities stay.
struct Effective;

/// Capabilities do not follow the effective user.
const SECBIT_NO_SETUID_FIXUP: libc::c_int = 1 << 2;

impl Effective {
    /// `None` where root inside is the user we are.
    fn become_root_of(ids: Ids) -> Result<Option<Self>, IsolateError> {
        let failed = || system("act as the owner of the user namespace");
        if ids.root() == 0 {
            return Ok(None);
        }
        let bits = secure_bits(None).map_err(failed())?;
        secure_bits(Some(bits | SECBIT_NO_SETUID_FIXUP)).map_err(failed())?;
        let this = Self;
        set_effective(ids.root()).map_err(failed())?;
        Ok(Some(this))
    }
}

impl Drop for Effective {
    fn drop(&mut self) {
        // Going back to the real user cannot fail, nor can clearing a bit that we have set.
        let _ = set_effective(rustix::process::getuid().as_raw());
        let _ = secure_bits(None).and_then(|bits| secure_bits(Some(bits & !SECBIT_NO_SETUID_FIXUP)));
        // The kernel has made our memory and our files in /proc root's alone meanwhile.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    }
}

/// Of this thread alone, by the kernel's own call.
fn set_effective(uid: u32) -> rustix::io::Result<()> {
    const SAME: u32 = u32::MAX;
    // SAFETY: the call touches no memory; the C library's own would change every thread.
    sys::check(unsafe { libc::syscall(libc::SYS_setresuid, SAME, uid, SAME) })
}

/// Sets them, where given, and returns what they are.
fn secure_bits(bits: Option<libc::c_int>) -> rustix::io::Result<libc::c_int> {
    // SAFETY: neither call touches memory.
    let result = unsafe {
        match bits {
            Some(bits) => libc::prctl(libc::PR_SET_SECUREBITS, bits),
            None => libc::prctl(libc::PR_GET_SECUREBITS),
        }
    };
    sys::check(result.into()).map(|_| bits.unwrap_or(result))
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

fn map(pid: i32, lines: &str) -> Result<OwnedFd, IsolateError> {
    // Whoever is inside could write the last, once.
    for file in ["uid_map", "gid_map", "projid_map"] {
        std::fs::write(format!("/proc/{pid}/{file}"), lines)
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
