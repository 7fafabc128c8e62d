//! Which controller lives where on this host.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::files::{Files, Kernel};
use crate::error::{Feature, IsolateError, SystemError};
use crate::launch::Limits;

/// The hierarchies a sandbox takes part in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) hierarchies: Vec<Hierarchy>,
}

/// One mounted hierarchy with the controllers of it that we use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) mount: PathBuf,
    pub(crate) version: Version,
    pub(crate) controllers: Vec<Controller>,
    /// v1: cpuset is mounted together with one of ours, and wants its sets filled in first.
    pub(crate) cpuset: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Controller {
    Memory,
    Cpu,
    Pids,
    Freezer,
}

impl Controller {
    pub(crate) const ALL: [Self; 4] = [Self::Memory, Self::Cpu, Self::Pids, Self::Freezer];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
            Self::Freezer => "freezer",
        }
    }
}

impl Layout {
    pub(crate) fn of_host() -> Result<Self, IsolateError> {
        let mounts = Path::new("/proc/self/mountinfo");
        let table =
            Kernel.read(mounts).map_err(|source| IsolateError::File { path: mounts.into(), source })?;
        Ok(Self::from_mounts(&table, &Kernel))
    }

    /// Reads `/proc/self/mountinfo`. The kernel has each controller in one hierarchy, but that may be mounted
    /// twice, and the freezer of v2 needs no controller: there v1 comes first, so that a hybrid host's v2 mount
    /// is left alone.
    pub(crate) fn from_mounts(table: &str, files: &impl Files) -> Self {
        let mut found: Vec<Hierarchy> =
            table.lines().filter_map(|line| Hierarchy::from_mount(line, files)).collect();
        found.sort_by_key(|hierarchy| hierarchy.version == Version::Two);
        let mut layout = Self::default();
        for mut hierarchy in found {
            hierarchy.controllers.retain(|controller| layout.with(*controller).is_none());
            if !hierarchy.controllers.is_empty() {
                layout.hierarchies.push(hierarchy);
            }
        }
        layout
    }

    pub(crate) fn with(&self, controller: Controller) -> Option<&Hierarchy> {
        self.hierarchies.iter().find(|hierarchy| hierarchy.controllers.contains(&controller))
    }

    /// A limit that nothing would enforce is an error.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), IsolateError> {
        let asked = [
            (limits.memory.is_some(), Controller::Memory),
            (limits.cpu.is_some(), Controller::Cpu),
            (limits.pids.is_some(), Controller::Pids),
        ];
        match asked.into_iter().find(|(asked, controller)| *asked && self.with(*controller).is_none()) {
            Some((_, controller)) => Err(lacking(controller)),
            None => Ok(()),
        }
    }
}

impl Hierarchy {
    /// From `36 25 0:31 / /sys/fs/cgroup/memory rw,… shared:9 - cgroup cgroup rw,memory`.
    fn from_mount(line: &str, files: &impl Files) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mount = PathBuf::from(unescape(place.split(' ').nth(4)?));
        let mut kind = kind.split(' ');
        match kind.next()? {
            "cgroup" => {
                let options: Vec<&str> = kind.nth(1)?.split(',').collect();
                let controllers = among(&options);
                Some(Self { mount, version: Version::One, controllers, cpuset: options.contains(&"cpuset") })
            }
            "cgroup2" => {
                let listed = files.read(&mount.join("cgroup.controllers")).ok()?;
                let mut controllers = among(&listed.split_whitespace().collect::<Vec<_>>());
                controllers.push(Controller::Freezer);
                Some(Self { mount, version: Version::Two, controllers, cpuset: false })
            }
            _ => None,
        }
    }
}

fn among(names: &[&str]) -> Vec<Controller> {
    Controller::ALL.into_iter().filter(|controller| names.contains(&controller.name())).collect()
}

/// mountinfo writes a space as `\040`.
fn unescape(field: &str) -> String {
    field.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

pub(crate) fn lacking(controller: Controller) -> IsolateError {
    let feature = match controller {
        Controller::Memory => Feature::MemoryCgroup,
        Controller::Cpu => Feature::CpuCgroup,
        Controller::Pids => Feature::PidsCgroup,
        Controller::Freezer => Feature::Cgroups,
    };
    IsolateError::Lacks { feature, source: SystemError::from(Errno::OPNOTSUPP) }
}
