//! Process 1 where the program is not made for it: starts the program, reaps whatever dies, ends with it.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::Pid;

use crate::error::{IsolateError, system};
use crate::program::INIT_NAME;
use crate::sys;

/// Forks; returns in the child, which becomes the program. The parent stays behind as process 1 and never
/// returns: it writes the program's raw wait status to `status` and ends; with it ends all that is left inside.
pub(crate) fn stay_behind(status: OwnedFd) -> Result<(), IsolateError> {
    match sys::fork().map_err(system("start the program"))? {
        None => Ok(()),
        Some(program) => supervise(program, &status),
    }
}

fn supervise(program: Pid, status: &OwnedFd) -> ! {
    let _ = rustix::thread::set_name(INIT_NAME);
    close_all_but(status);
    loop {
        let mut raw = 0;
        // SAFETY: the status is written to a local.
        let ended = unsafe { libc::waitpid(-1, &raw mut raw, 0) };
        if ended == program.as_raw_nonzero().get() {
            let _ = rustix::io::write(status.as_fd(), &raw.to_ne_bytes());
            end(0);
        }
        if ended == -1 && sys::last_errno() != Errno::INTR {
            end(1);
        }
    }
}

/// Whoever reads the program's output sees its end when the program ends, not when we do.
fn close_all_but(kept: &OwnedFd) {
    let kept = kept.as_raw_fd() as u32;
    // SAFETY: this process uses no descriptor but `kept` from here on.
    unsafe {
        if kept > 0 {
            let _ = sys::close_range(0, kept - 1);
        }
        let _ = sys::close_range(kept + 1, u32::MAX);
    }
}

/// Ends at once, without the exit handlers of the process this one is a copy of.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}
