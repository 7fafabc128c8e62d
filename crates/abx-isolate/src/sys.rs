//! System calls that rustix does not wrap.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::io::{Errno, Result};
use rustix::process::Pid;

/// What `clone3` returned.
pub(crate) enum Fork {
    Child,
    Parent { pid: Pid, pidfd: OwnedFd },
}

/// Forks into new namespaces (`flags` are `CLONE_NEW…`), optionally straight into a v2 cgroup.
///
/// The child is a copy of a process that must have a single thread: no lock can be held by a thread that
/// does not exist there.
pub(crate) fn clone3(flags: i32, cgroup: Option<BorrowedFd<'_>>) -> Result<Fork> {
    let mut pidfd: i32 = -1;
    // SAFETY: all zero is a valid value for every field.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = flags as u32 as u64 | libc::CLONE_PIDFD as u64;
    arguments.pidfd = (&raw mut pidfd) as u64;
    arguments.exit_signal = libc::SIGCHLD as u64;
    if let Some(cgroup) = &cgroup {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = cgroup.as_raw_fd() as u64;
    }
    // SAFETY: without CLONE_VM the child has its own copy of everything; the arguments outlive the call.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    match pid {
        -1 => Err(last_errno()),
        0 => Ok(Fork::Child),
        // SAFETY: the kernel has just made this descriptor for us.
        pid => Ok(Fork::Parent { pid: to_pid(pid as i32), pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } }),
    }
}

const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A plain fork that skips libc's handlers; for the single-threaded process 1.
pub(crate) fn fork() -> Result<Option<Pid>> {
    // SAFETY: without CLONE_VM the child has its own copy of everything.
    match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
        -1 => Err(last_errno()),
        0 => Ok(None),
        pid => Ok(Some(to_pid(pid as i32))),
    }
}

pub(crate) fn to_pid(raw: i32) -> Pid {
    Pid::from_raw(raw).expect("the kernel hands out positive ids")
}

/// Changes the attributes of the mount(s) at `tree`: sets `set`, and maps ids through `userns` if given.
pub(crate) fn mount_setattr(
    tree: impl AsFd,
    set: u64,
    userns: Option<BorrowedFd<'_>>,
    recursive: bool,
) -> Result<()> {
    let attributes = MountAttributes {
        set: set | if userns.is_some() { MOUNT_ATTR_IDMAP } else { 0 },
        userns: userns.map_or(0, |userns| userns.as_raw_fd() as u64),
        ..MountAttributes::default()
    };
    change_mount(tree, &attributes, recursive)
}

/// Takes attributes from the mount at `tree`.
pub(crate) fn mount_setattr_clear(tree: impl AsFd, clear: u64) -> Result<()> {
    change_mount(tree, &MountAttributes { clear, ..MountAttributes::default() }, false)
}

fn change_mount(tree: impl AsFd, attributes: &MountAttributes, recursive: bool) -> Result<()> {
    let flags = libc::AT_EMPTY_PATH | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a constant C string and the attributes outlive the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            std::ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    })
}

#[derive(Default)]
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

pub(crate) const MOUNT_ATTR_RDONLY: u64 = 0x1;
pub(crate) const MOUNT_ATTR_NOSUID: u64 = 0x2;
pub(crate) const MOUNT_ATTR_NODEV: u64 = 0x4;
pub(crate) const MOUNT_ATTR_NOEXEC: u64 = 0x8;
const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
const AT_RECURSIVE: i32 = 0x8000;

/// Marks every descriptor from `first` on to be closed at exec.
pub(crate) fn close_on_exec_from(first: u32) -> Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) })
}

/// Closes the descriptors `first..=last`.
///
/// # Safety
/// Nothing may use them afterwards.
pub(crate) unsafe fn close_range(first: u32, last: u32) -> Result<()> {
    // SAFETY: the caller's promise.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) })
}

/// Makes `number` refer to what `descriptor` refers to, not closed at exec.
pub(crate) fn duplicate_onto(descriptor: impl AsFd, number: i32) -> Result<()> {
    // SAFETY: the caller of `launch` chose `number` for the new process; nothing here owns it any more.
    check(unsafe { libc::dup2(descriptor.as_fd().as_raw_fd(), number) }.into())
}

/// Executes `path` relative to `directory`, or `directory` itself where `path` is empty. Returns only on failure.
pub(crate) fn execveat(
    directory: BorrowedFd<'_>,
    path: &CStr,
    argv: &CStrings<'_>,
    env: &CStrings<'_>,
) -> Errno {
    let flags = if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    // SAFETY: both arrays end with a null pointer and point into strings that outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            directory.as_raw_fd(),
            path.as_ptr(),
            argv.pointers.as_ptr(),
            env.pointers.as_ptr(),
            flags,
        )
    };
    last_errno()
}

/// A null-terminated array of C strings.
pub(crate) struct CStrings<'a> {
    pointers: Vec<*const libc::c_char>,
    _strings: std::marker::PhantomData<&'a CStr>,
}

impl<'a> CStrings<'a> {
    pub(crate) fn new(strings: &'a [std::ffi::CString]) -> Self {
        let pointers = strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { pointers, _strings: std::marker::PhantomData }
    }
}

/// Installs a seccomp filter; needs CAP_SYS_ADMIN in the caller's user namespace or `no_new_privs`.
pub(crate) fn install_filter(filter: &[libc::sock_filter]) -> Result<()> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies the program during the call and does not write to it.
    check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &raw const program,
        )
    })
}

pub(crate) fn check(result: i64) -> Result<()> {
    if result == -1 { Err(last_errno()) } else { Ok(()) }
}

pub(crate) fn last_errno() -> Errno {
    Errno::from_raw_os_error(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}
