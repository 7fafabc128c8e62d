//! Another host name for a sandbox that runs already.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::thread::{ThreadNameSpaceType, UnshareFlags, move_into_thread_name_spaces, unshare_unsafe};

use crate::error::{IsolateError, SystemError, system};
use crate::launch::RuntimeFile;
use crate::root::clone_tree;
use crate::running::Running;
use crate::sys;

impl Running {
    /// Gives it another host name, and files that were bound over those of its root (see [`crate::Launch::files`]) what
    /// they shall hold from now on. Nobody inside may do either.
    ///
    /// # Errors
    /// It has ended, or one of the files is none that was bound.
    pub fn rename(&self, name: &str, files: &[RuntimeFile]) -> Result<(), IsolateError> {
        // A thread of its own enters the namespaces, and ends there.
        let entered = std::thread::scope(|scope| scope.spawn(|| self.rename_inside(name, files)).join());
        let writable = entered.expect("does not panic").map_err(system("set the host name"))?;
        // What was opened inside is written from outside, where `/proc` is the host's.
        for (tree, file) in writable.iter().zip(files) {
            write(tree, &file.content)
                .map_err(|source| IsolateError::RuntimeFile { path: file.path.clone(), source })?;
        }
        Ok(())
    }

    fn rename_inside(&self, name: &str, files: &[RuntimeFile]) -> rustix::io::Result<Vec<OwnedFd>> {
        let spaces = ThreadNameSpaceType::MOUNT | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME;
        // SAFETY: only the thread's own root and working directory are set apart from those of the others.
        unsafe { unshare_unsafe(UnshareFlags::FS) }?;
        move_into_thread_name_spaces(self.pidfd(), spaces)?;
        rustix::system::sethostname(name.as_bytes())?;
        files.iter().map(|file| writable(&file.path)).collect()
    }
}

/// A copy of the mount on the file that may be written to; the one inside stays as it is.
fn writable(path: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?;
    let tree = clone_tree(&file, "", false)?;
    sys::mount_setattr_clear(&tree, sys::MOUNT_ATTR_RDONLY)?;
    Ok(tree)
}

fn write(tree: &OwnedFd, content: &str) -> Result<(), SystemError> {
    let path = format!("/proc/self/fd/{}", tree.as_raw_fd());
    // Whoever made something else of the file does not make us wait.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = File::options().write(true).truncate(true).custom_flags(flags).open(path);
    opened.and_then(|mut file| file.write_all(content.as_bytes())).map_err(SystemError::from)
}
