//! Which layers no power cut can have emptied.
//!
//! A layer is not written to disk before it counts: that would make every build wait for the disk. Instead
//! its record says under which boot of the kernel it was made, and when. A record of this boot counts; one of
//! an earlier boot counts only where a sync of the whole store has begun after it was made. The syncs are
//! done by a process of their own at the end of each build that made layers, and kept in `store/synced`:
//!
//! ```text
//! <boot id> <nanoseconds since that boot>
//! ```
//!
//! a line for each boot, telling when its last whole sync began. No clock that can be set has a say in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use abx_core::Home;
use abx_core::fs::write_durable;
use rustix::fs::{FlockOperation, flock, syncfs};
use rustix::io::retry_on_intr;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::{ImageStore, read_optional};
use crate::ImageError;

/// The argument that makes the program at `exe` call [`run_sync`] with the arguments that follow it.
pub const SYNC_HELPER: &str = "store-sync";

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// When something was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    boot: String,
    /// Nanoseconds since that boot.
    made: u64,
}

/// This boot, and how far earlier ones have been synced.
#[derive(Clone, Debug)]
pub(super) struct Boots {
    /// Empty where the kernel does not tell; everything counts then.
    current: String,
    synced: BTreeMap<String, u64>,
}

impl Boots {
    pub(super) fn new(current: &str, synced: &str) -> Self {
        let lines = synced.lines().filter_map(|line| {
            let (boot, until) = line.split_once(' ')?;
            Some((boot.to_owned(), until.parse().ok()?))
        });
        Self { current: current.to_owned(), synced: lines.collect() }
    }

    fn read(path: &Path) -> Self {
        let current = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
        Self::new(current.trim(), &std::fs::read_to_string(path).unwrap_or_default())
    }

    /// The stamp of now.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp { boot: self.current.clone(), made: uptime() }
    }

    /// Whether what has that stamp is as it was made.
    pub(super) fn vouch_for(&self, stamp: &Stamp) -> bool {
        self.current.is_empty() || stamp.boot == self.current || self.is_synced(stamp)
    }

    fn is_synced(&self, stamp: &Stamp) -> bool {
        self.synced.get(&stamp.boot).is_some_and(|until| stamp.made <= *until)
    }

    fn lines(&self) -> String {
        self.synced.iter().map(|(boot, until)| format!("{boot} {until}\n")).collect()
    }
}

impl ImageStore {
    pub(super) fn boots(&self) -> &Boots {
        self.shared.boots.get_or_init(|| Boots::read(&self.home.store("synced")))
    }

    /// Has what was published through this store and its clones written to disk by a process of its own,
    /// `exe` [`SYNC_HELPER`], which outlives this one; does nothing where nothing was published. Nothing is
    /// lost where that process cannot start or is killed, except that a power cut makes the layers absent.
    pub fn sync_later(&self, exe: &Path) {
        if !self.shared.is_dirty.swap(false, Ordering::Relaxed) {
            return;
        }
        let Ok(home) = std::path::absolute(self.home.root()) else { return };
        let mut command = Command::new(exe);
        command.arg0("abx-sync").arg(SYNC_HELPER).arg(home).arg(uptime().to_string()).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // No signal of a terminal is meant for it.
        command.process_group(0);
        if let Ok(mut child) = command.spawn() {
            // Collected where this process lives on, else by init.
            std::thread::spawn(move || child.wait());
        }
    }

    /// Removes what killed builds left, and writes the whole store to disk, unless another process has begun to
    /// do so after `made`.
    pub(super) fn sync(&self, made: u64) -> Result<(), ImageError> {
        let (layers, path) = (self.layers(), self.home.store("synced"));
        let wanted = Stamp { made, ..self.boots().stamp() };
        // The lock is the directory itself.
        let directory = File::open(&layers).map_err(ImageError::store("open", &layers))?;
        retry_on_intr(|| flock(&directory, FlockOperation::LockExclusive))
            .map_err(|error| ImageError::store("lock", &layers)(error.into()))?;
        let bytes = read_optional(&path).map_err(ImageError::store("read", &path))?.unwrap_or_default();
        let mut boots = Boots::new(&self.boots().current, &String::from_utf8_lossy(&bytes));
        if boots.is_synced(&wanted) {
            return Ok(());
        }
        let swept = self.sweep();
        let begun = boots.stamp();
        syncfs(&directory).map_err(|error| ImageError::store("sync", &layers)(error.into()))?;
        boots.synced.insert(begun.boot, begun.made);
        write_durable(&path, boots.lines().as_bytes()).map_err(ImageError::store("write", &path))?;
        swept.map(drop)
    }
}

/// The helper's whole life, by the arguments after [`SYNC_HELPER`]: the home, and when it was last changed.
/// Returns the exit status.
pub fn run_sync(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let _ = rustix::thread::set_name(c"abx-sync");
    let (Some(home), Some(made)) = (arguments.next(), arguments.next()) else { return 2 };
    let Some(made) = made.to_str().and_then(|made| made.parse().ok()) else { return 2 };
    u8::from(ImageStore::open(&Home::new(home)).sync(made).is_err())
}

/// Nanoseconds since boot, sleep included.
pub(super) fn uptime() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
