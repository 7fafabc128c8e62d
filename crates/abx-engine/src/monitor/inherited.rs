//! What whoever starts it hands to a monitor: the request on standard input, descriptors by number, paths as arguments.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::path::PathBuf;

use abx_core::Home;
use abx_core::fs::Lock;
use rustix::io::{FdFlags, fcntl_setfd};

use crate::start::Request;
use crate::{Record, SandboxId, SandboxSettings};

/// The monitor's inheritance.
pub(super) struct Inherited {
    pub home: Home,
    pub dir: PathBuf,
    pub id: SandboxId,
    pub settings: SandboxSettings,
    /// What the sandbox was, where it is started again.
    pub before: Option<Record>,
    /// Seconds it gets in place of its own timeout.
    pub timeout: Option<u64>,
    /// It is for a pool.
    pub pooled: bool,
    /// Where to say that the sandbox is ready, or why not; taken when said.
    pub report: Option<File>,
    /// The entry's lock, then the name's where there is one; held until nothing of the sandbox is left.
    pub locks: Vec<Lock>,
}

impl Inherited {
    /// Reads `HOME DIR LOCK REPORT [NAME_LOCK]`; `None` where they are not that.
    ///
    /// # Safety
    /// The descriptors named by the arguments must belong to nobody else in this process.
    pub(super) unsafe fn take(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let home = Home::new(PathBuf::from(arguments.next()?));
        let dir = PathBuf::from(arguments.next()?);
        let id = SandboxId::parse(dir.file_name()?.to_str()?)?;
        let mut fds = Vec::new();
        for argument in arguments {
            let fd: i32 = argument.to_str()?.parse().ok()?;
            // SAFETY: the caller's promise.
            let file = unsafe { File::from_raw_fd(fd) };
            // The daemon inside must not inherit them: a lock would outlive us in it.
            fcntl_setfd(&file, FdFlags::CLOEXEC).ok()?;
            fds.push(file);
        }
        let mut fds = fds.into_iter();
        let lock = Lock::inherited(fds.next()?);
        let report = fds.next()?;
        let mut locks = vec![lock];
        locks.extend(fds.map(Lock::inherited));
        let this = Self {
            settings: SandboxSettings::default(),
            before: None,
            timeout: None,
            pooled: false,
            report: Some(report),
            home,
            dir,
            id,
            locks,
        };
        this.with(serde_json::from_reader(std::io::stdin().lock()).ok()?)
    }

    /// With what the request says, or the record it refers to.
    fn with(self, request: Request) -> Option<Self> {
        Some(match request {
            Request::Fresh { settings, pooled } => Self { settings: *settings, pooled, ..self },
            Request::Again { timeout } => {
                let before = Record::read(&self.dir)?;
                Self { settings: before.settings.clone(), before: Some(before), timeout, ..self }
            }
        })
    }

    /// Lets go of the entry and of the name, which another sandbox may have from now on.
    pub(super) fn let_go(&mut self) {
        self.locks.clear();
    }
}
