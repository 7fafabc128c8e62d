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

/// The argument that makes the program at `exe` call [`run_sync`] with the home that follows it.
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
        command.arg0("abx-sync").arg(SYNC_HELPER).arg(home).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // No signal of a terminal is meant for it.
        command.process_group(0);
        if let Ok(mut child) = command.spawn() {
            // Collected where this process lives on, else by init.
            std::thread::spawn(move || child.wait());
        }
    }

    /// Writes the whole store to disk, unless another process did since this was called. Makes nothing where
    /// there is no store any more.
    pub fn sync(&self) -> Result<(), ImageError> {
        let (layers, path) = (self.layers(), self.home.store("synced"));
        let wanted = self.boots().stamp();
        // The lock is the directory itself.
        let directory = File::open(&layers).map_err(ImageError::store("open", &layers))?;
        retry_on_intr(|| flock(&directory, FlockOperation::LockExclusive))
            .map_err(|error| ImageError::store("lock", &layers)(error.into()))?;
        let bytes = read_optional(&path).map_err(ImageError::store("read", &path))?.unwrap_or_default();
        let mut boots = Boots::new(&self.boots().current, &String::from_utf8_lossy(&bytes));
        if boots.is_synced(&wanted) {
            return Ok(());
        }
        let begun = boots.stamp();
        syncfs(&directory).map_err(|error| ImageError::store("sync", &layers)(error.into()))?;
        boots.synced.insert(begun.boot, begun.made);
        write_durable(&path, boots.lines().as_bytes()).map_err(ImageError::store("write", &path))
    }
}

/// The helper's whole life: returns its exit status. Clears what killed builds left while it is at it.
pub fn run_sync(home: &Path) -> u8 {
    let _ = rustix::thread::set_name(c"abx-sync");
    let store = ImageStore::open(&Home::new(home));
    u8::from(store.sync().and_then(|()| store.sweep()).is_err())
}

/// Nanoseconds since boot, sleep included.
fn uptime() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
