//! Control groups: limits, usage, freezing and killing, by the sandbox's name, from any process.
//!
//! ```text
//! v1   /sys/fs/cgroup/memory/abx/<name>    one directory per controller in use
//!      /sys/fs/cgroup/pids/abx/<name>
//! v2   /sys/fs/cgroup/abx/<name>           one directory
//! ```
//!
//! A hybrid host has both; each controller is used where it lives. The devices controller is not needed:
//! every mount a sandbox sees is `nodev` but its own /dev, and nobody inside can mount or make devices.

mod files;
mod layout;
mod v1;
mod v2;

use std::ffi::CString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;

pub(crate) use files::{Files, Kernel};
pub(crate) use layout::Layout;
pub(crate) use layout::{Controller, Hierarchy, Version};

use crate::error::{IsolateError, SystemError};
use crate::launch::Limits;

/// The directory all sandboxes' groups are in.
pub(crate) const PARENT: &str = "abx";

/// The control groups of one sandbox.
#[derive(Clone, Debug)]
pub struct Cgroups<F: Files = Kernel> {
    name: String,
    layout: Layout,
    files: F,
}

/// What a sandbox uses and which limits it ran into. `None` where no controller tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes, reclaimable cache included.
    pub memory: Option<u64>,
    /// Bytes.
    pub memory_limit: Option<u64>,
    /// Processes the kernel killed for lack of memory.
    pub oom_kills: u64,
    pub pids: Option<u64>,
    /// Forks refused because of the limit.
    pub pids_refused: u64,
    /// CPU time used.
    pub cpu: Option<Duration>,
}

/// How a process gets into its groups.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// v2: the directory it is born in.
    pub(crate) born: Option<PathBuf>,
    /// v1: the files it writes itself into, each relative to a hierarchy's mount point. A thread that moves
    /// itself waits for no one; moving another waits for a grace period of some milliseconds.
    pub(crate) moves: Vec<(PathBuf, CString)>,
}

impl Cgroups {
    /// Makes the groups of `name` on this host, with `limits`.
    pub fn create(name: &str, limits: &Limits) -> Result<Self, IsolateError> {
        Self::create_in(name, limits, Layout::of_host()?, Kernel)
    }

    /// Groups that are yet to be made.
    pub(crate) fn plan(name: &str, layout: Layout) -> Self {
        Self::new(name, layout, Kernel)
    }

    /// The groups of `name`, existing or not.
    pub fn open(name: &str) -> Result<Self, IsolateError> {
        Ok(Self::new(name, Layout::of_host()?, Kernel))
    }
}

impl<F: Files> Cgroups<F> {
    pub(crate) fn new(name: &str, layout: Layout, files: F) -> Self {
        Self { name: name.to_owned(), layout, files }
    }

    pub(crate) fn create_in(
        name: &str,
        limits: &Limits,
        layout: Layout,
        files: F,
    ) -> Result<Self, IsolateError> {
        let cgroups = Self::new(name, layout, files);
        cgroups.layout.check(limits)?;
        cgroups.make(limits)?;
        Ok(cgroups)
    }

    /// Makes the groups; all or none.
    pub(crate) fn make(&self, limits: &Limits) -> Result<(), IsolateError> {
        let made = self.hierarchies().try_for_each(|hierarchy| match hierarchy.version {
            Version::One => v1::make(self, hierarchy, limits),
            Version::Two => v2::make(self, hierarchy, limits),
        });
        if made.is_err() {
            let _ = self.remove();
        }
        made
    }

    /// Moves a process of the host into the groups. `launch` does this by itself.
    pub fn attach(&self, pid: u32) -> Result<(), IsolateError> {
        self.hierarchies().try_for_each(|hierarchy| self.write(hierarchy, "cgroup.procs", &pid.to_string()))
    }

    pub(crate) fn entry(&self) -> Entry {
        let mut entry = Entry::default();
        for hierarchy in self.hierarchies() {
            match hierarchy.version {
                Version::One => entry.moves.push((hierarchy.mount.clone(), self.tasks())),
                Version::Two => entry.born = Some(self.directory(hierarchy)),
            }
        }
        entry
    }

    fn tasks(&self) -> CString {
        CString::new(format!("{PARENT}/{}/tasks", self.name)).unwrap_or_default()
    }

    /// Usage and events so far. A group that is gone counts as unused.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for hierarchy in self.hierarchies() {
            match hierarchy.version {
                Version::One => v1::read(self, hierarchy, &mut stats),
                Version::Two => v2::read(self, hierarchy, &mut stats),
            }
        }
        stats
    }

    /// Stops every process until [`Cgroups::thaw`]; returns once they stand still.
    pub fn freeze(&self) -> Result<(), IsolateError> {
        self.set_frozen(true)
    }

    /// Lets frozen processes run on.
    pub fn thaw(&self) -> Result<(), IsolateError> {
        self.set_frozen(false)
    }

    fn set_frozen(&self, frozen: bool) -> Result<(), IsolateError> {
        let Some(hierarchy) = self.layout.with(Controller::Freezer) else {
            return Err(layout::lacking(Controller::Freezer));
        };
        match hierarchy.version {
            Version::One => v1::set_frozen(self, hierarchy, frozen),
            Version::Two => v2::set_frozen(self, hierarchy, frozen),
        }
    }

    /// Kills every process in the groups, frozen ones included.
    pub fn kill_all(&self) -> Result<(), IsolateError> {
        for hierarchy in self.hierarchies() {
            match hierarchy.version {
                Version::One => self.kill_each(hierarchy)?,
                Version::Two => v2::kill(self, hierarchy)?,
            }
        }
        let _ = self.thaw();
        Ok(())
    }

    /// Kills what `cgroup.procs` lists until it lists nothing: a process may fork while we read, and one that was killed
    /// is listed until it has let go of its namespaces, for which a busy host may need a while.
    fn kill_each(&self, hierarchy: &Hierarchy) -> Result<(), IsolateError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let listed = self.read(hierarchy, "cgroup.procs").unwrap_or_default();
            let pids: Vec<i32> =
                listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect();
            if pids.is_empty() {
                return Ok(());
            }
            for pid in pids {
                let _ = rustix::process::kill_process(crate::sys::to_pid(pid), rustix::process::Signal::KILL);
            }
            // A frozen process of v1 dies only once it is thawed.
            let _ = self.thaw();
            if Instant::now() >= deadline {
                return Err(self.failed(hierarchy, "cgroup.procs", Errno::BUSY));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Removes the groups. Those already gone count as removed; those whose last processes are still
    /// dying are tried again for ten seconds.
    pub fn remove(&self) -> Result<(), IsolateError> {
        let deadline = Instant::now() + PATIENCE;
        self.hierarchies().try_for_each(|hierarchy| self.remove_from(hierarchy, deadline))
    }

    fn remove_from(&self, hierarchy: &Hierarchy, deadline: Instant) -> Result<(), IsolateError> {
        let directory = self.directory(hierarchy);
        loop {
            match self.files.remove(&directory) {
                Ok(()) => return Ok(()),
                Err(error) if error.is(Errno::NOENT) => return Ok(()),
                Err(error) if error.is(Errno::BUSY) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(source) => {
                    return Err(IsolateError::Cgroup { setting: "the end".into(), path: directory, source });
                }
            }
        }
    }

    fn hierarchies(&self) -> impl Iterator<Item = &Hierarchy> {
        self.layout.hierarchies.iter()
    }

    fn directory(&self, hierarchy: &Hierarchy) -> PathBuf {
        hierarchy.mount.join(PARENT).join(&self.name)
    }

    fn write(&self, hierarchy: &Hierarchy, file: &'static str, value: &str) -> Result<(), IsolateError> {
        let path = self.directory(hierarchy);
        self.files.write(&path.join(file), value).map_err(|source| IsolateError::Cgroup {
            setting: file.into(),
            path,
            source,
        })
    }

    fn read(&self, hierarchy: &Hierarchy, file: &str) -> Option<String> {
        self.files.read(&self.directory(hierarchy).join(file)).ok()
    }

    fn read_number(&self, hierarchy: &Hierarchy, file: &str) -> Option<u64> {
        self.read(hierarchy, file)?.trim().parse().ok()
    }

    /// The number after `key` in a file of `key value` lines.
    fn read_field(&self, hierarchy: &Hierarchy, file: &str, key: &str) -> Option<u64> {
        let text = self.read(hierarchy, file)?;
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
    }

    fn failed(&self, hierarchy: &Hierarchy, setting: &'static str, errno: Errno) -> IsolateError {
        IsolateError::Cgroup {
            setting: setting.into(),
            path: self.directory(hierarchy),
            source: SystemError::from(errno),
        }
    }
}

/// Processor time a group may use per period, in microseconds.
const CPU_PERIOD: u64 = 100_000;
/// How long processes that were killed may take to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

fn cpu_quota(cores: f64) -> u64 {
    // The kernel refuses less than a millisecond.
    ((cores * CPU_PERIOD as f64) as u64).max(1000)
}

fn megabytes(count: u64) -> u64 {
    count.saturating_mul(1024 * 1024)
}

#[cfg(test)]
mod tests;
