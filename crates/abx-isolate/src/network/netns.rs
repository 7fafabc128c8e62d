//! Working in another network namespace.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Result;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// The namespace the calling thread is in.
const CURRENT: &str = "/proc/thread-self/ns/net";

fn current() -> Result<OwnedFd> {
    openat(CWD, CURRENT, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Makes a namespace and runs `work` with the calling thread in it; the thread comes back.
pub(crate) fn create<T>(work: impl FnOnce() -> T) -> Result<(OwnedFd, T)> {
    let way_back = WayBack(current()?);
    // SAFETY: descriptors stay shared as they are; only the thread's network changes.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    let made = current()?;
    let result = work();
    drop(way_back);
    Ok((made, result))
}

/// Runs `work` with the calling thread in `netns`, then comes back. A socket stays in the namespace it
/// was made in.
pub(crate) fn within<T>(netns: BorrowedFd<'_>, work: impl FnOnce() -> T) -> Result<T> {
    let way_back = WayBack(current()?);
    move_into_link_name_space(netns, Some(LinkNameSpaceType::Network))?;
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
