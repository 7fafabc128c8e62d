//! What the host left for us: descriptors and a configuration.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use abx_protocol::boot::{BootConfig, CONFIG_FD, CONTROL_FD, LISTEN_FD, LOG_FD};
use rustix::io::{FdFlags, fcntl_setfd};

/// Everything inherited, taken out of the environment and closed on exec.
pub(crate) struct Inherited {
    pub(crate) listener: OwnedFd,
    pub(crate) control: Option<OwnedFd>,
    pub(crate) log: Option<File>,
    pub(crate) config: BootConfig,
}

impl Inherited {
    /// Reads the environment once. Must run before any other descriptor is opened, because it takes
    /// ownership of numbers.
    pub(crate) fn take() -> io::Result<Self> {
        close_all_on_exec();
        let listener = inherited(LISTEN_FD)?.ok_or_else(|| missing(LISTEN_FD))?;
        let control = inherited(CONTROL_FD)?;
        let log = inherited(LOG_FD)?.map(File::from);
        let config = match inherited(CONFIG_FD)? {
            Some(descriptor) => read_config(File::from(descriptor))?,
            None => BootConfig::default(),
        };
        Ok(Self { listener, control, log, config })
    }
}

/// Whatever else was left open must not reach processes in the sandbox.
fn close_all_on_exec() {
    // SAFETY: the call only sets flags. Where it is not known or not allowed, the named descriptors are
    // still marked one by one.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

fn inherited(name: &str) -> io::Result<Option<OwnedFd>> {
    let Ok(value) = std::env::var(name) else { return Ok(None) };
    let number: i32 = value.parse().ok().filter(|number| *number > 2).ok_or_else(|| missing(name))?;
    // SAFETY: the number was handed to this process for this purpose and nothing else here owns it; that it
    // is open at all is checked by the call below, before anything else uses it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    match fcntl_setfd(descriptor.as_fd(), FdFlags::CLOEXEC) {
        Ok(()) => Ok(Some(descriptor)),
        Err(error) => {
            std::mem::forget(descriptor);
            Err(io::Error::new(io::Error::from(error).kind(), format!("{name}={number}: {error}")))
        }
    }
}

fn missing(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{name} must name an inherited descriptor"))
}

fn read_config(mut file: File) -> io::Result<BootConfig> {
    file.seek(SeekFrom::Start(0))?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::from)
}
