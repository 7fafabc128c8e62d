//! Working in another network namespace.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Result;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The network namespace of a process.
pub(crate) fn of_process(pid: u32) -> Result<OwnedFd> {
    open(&format!("/proc/{pid}/ns/net"))
}

fn open(path: &str) -> Result<OwnedFd> {
    openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Runs `work` with the calling thread in `netns`, then comes back. A socket stays in the namespace it
/// was made in.
pub(crate) fn within<T>(netns: BorrowedFd<'_>, work: impl FnOnce() -> T) -> Result<T> {
    let home = open("/proc/thread-self/ns/net")?;
    move_into_link_name_space(netns, Some(LinkNameSpaceType::Network))?;
    let way_back = WayBack(home);
    let result = work();
    drop(way_back);
    Ok(result)
}

/// Brings the thread back, also when `work` panics.
struct WayBack(OwnedFd);

impl Drop for WayBack {
    fn drop(&mut self) {
        let back = move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network));
        if back.is_err() && !thread::panicking() {
            // A thread left in a sandbox's network would do the host's work there.
            std::process::abort();
        }
    }
}
