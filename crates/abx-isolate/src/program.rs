//! The program inside: what is executed, with which descriptors.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use crate::error::{IsolateError, system};
use crate::launch::{Ids, Process};
use crate::root::clone_tree;
use crate::sys::{self, CStrings};

/// Argument and environment strings as the kernel takes them.
pub(crate) struct Program {
    executable: Option<OwnedFd>,
    argv: Vec<CString>,
    env: Vec<CString>,
    path: String,
}

/// Where programs are looked for when the environment names no PATH.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Program {
    /// Prepares everything that needs the host's paths.
    pub(crate) fn prepare(process: &Process, ids: Ids) -> Result<Self, IsolateError> {
        let executable = process.program.as_deref().map(|path| open_executable(path, ids)).transpose()?;
        let argv = c_strings(process.argv.iter().cloned())?;
        if argv.is_empty() {
            return Err(not_found(process));
        }
        let env = c_strings(process.env.iter().map(|(key, value)| format!("{key}={value}")))?;
        let path = process.env.iter().rfind(|(key, _)| key == "PATH");
        Ok(Self {
            executable,
            argv,
            env,
            path: path.map_or(DEFAULT_PATH.to_owned(), |(_, value)| value.clone()),
        })
    }

    /// Becomes the program. Returns only on failure.
    pub(crate) fn execute(&self, process: &Process) -> IsolateError {
        let (argv, env) = (CStrings::new(&self.argv), CStrings::new(&self.env));
        if let Some(executable) = &self.executable {
            return refused(process, become_program(executable.as_fd(), c"", &argv, &env));
        }
        if process.argv[0].contains('/') {
            return refused(process, become_program(CWD, &self.argv[0], &argv, &env));
        }
        self.search(process, &argv, &env)
    }

    /// As a shell does: the first that can be executed; one that cannot counts only where no other is found.
    fn search(&self, process: &Process, argv: &CStrings<'_>, env: &CStrings<'_>) -> IsolateError {
        let mut denied = None;
        for directory in self.path.split(':') {
            let directory = if directory.is_empty() { "." } else { directory };
            let Ok(candidate) = CString::new(format!("{directory}/{}", process.argv[0])) else { continue };
            match become_program(CWD, &candidate, argv, env) {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => denied = Some(Errno::ACCESS),
                errno => return refused(process, errno),
            }
        }
        refused(process, denied.unwrap_or(Errno::NOENT))
    }
}

/// Executes it, again for a moment where its file is open for writing: a file that this host's processes wrote just
/// now is also held by whichever process was forked at that instant, until it executes its own program.
fn become_program(directory: BorrowedFd<'_>, path: &CStr, argv: &CStrings<'_>, env: &CStrings<'_>) -> Errno {
    for milliseconds in [1, 2, 4, 8, 16, 32] {
        match sys::execveat(directory, path, argv, env) {
            Errno::TXTBSY => std::thread::sleep(Duration::from_millis(milliseconds)),
            errno => return errno,
        }
    }
    sys::execveat(directory, path, argv, env)
}

/// Opens a host file to execute.
///
/// Where root inside is the host's root in the eyes of a file system, it could write to the file by way of
/// `/proc/1/exe`; so it is executed through a read-only mount of its own.
fn open_executable(path: &Path, ids: Ids) -> Result<OwnedFd, IsolateError> {
    let opened = match ids {
        Ids::Range { .. } => openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()),
        Ids::Identity => clone_tree(CWD, path, false).and_then(|tree| {
            sys::mount_setattr(&tree, sys::MOUNT_ATTR_RDONLY, None, false)?;
            Ok(tree)
        }),
    };
    opened.map_err(|errno| IsolateError::File { path: path.to_owned(), source: errno.into() })
}

fn c_strings(strings: impl Iterator<Item = String>) -> Result<Vec<CString>, IsolateError> {
    strings
        .map(|text| CString::new(text).map_err(|_| system("pass on a string with a NUL")(Errno::INVAL)))
        .collect()
}

fn not_found(process: &Process) -> IsolateError {
    IsolateError::ProgramNotFound { program: process.argv.first().cloned().unwrap_or_default() }
}

fn refused(process: &Process, errno: Errno) -> IsolateError {
    match errno {
        Errno::NOENT | Errno::NOTDIR => not_found(process),
        errno => {
            IsolateError::ProgramNotExecutable { program: process.argv[0].clone(), source: errno.into() }
        }
    }
}

/// Puts the descriptors of `wanted` (number here, number inside) in place and leaves no other open across
/// exec. 0, 1 and 2 stay as they are where `wanted` does not name them.
pub(crate) fn arrange_descriptors(wanted: &[(i32, i32)]) -> Result<(), IsolateError> {
    let failed = system("arrange descriptors");
    arrange(wanted).map_err(failed)
}

fn arrange(wanted: &[(i32, i32)]) -> rustix::io::Result<()> {
    let highest = wanted.iter().map(|(here, inside)| *here.max(inside)).max().unwrap_or(2);
    // First all out of the way, so that no target overwrites a source.
    let mut moved = Vec::with_capacity(wanted.len());
    for (here, inside) in wanted {
        // SAFETY: the caller of `launch` promises that these numbers are open; a closed one gives EBADF.
        let source = unsafe { BorrowedFd::borrow_raw(*here) };
        moved.push((fcntl_dupfd_cloexec(source, highest + 1)?, *inside));
    }
    sys::close_on_exec_from(3)?;
    for (source, inside) in &moved {
        sys::duplicate_onto(source, *inside)?;
    }
    Ok(())
}

/// The signal dispositions and mask a fresh program expects: a Rust process ignores SIGPIPE, and what is
/// ignored stays so across exec.
pub(crate) fn reset_signals() {
    // SAFETY: no handler of ours can run: the child handles no signal before it executes the program.
    unsafe {
        for signal in 1..libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// A name as the kernel shows it in `ps`.
pub(crate) const INIT_NAME: &CStr = c"abx-init";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_with_a_nul_are_refused() {
        assert!(c_strings(["a\0b".to_owned()].into_iter()).is_err());
    }
}
