//! The unified hierarchy.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::{CPU_PERIOD, Cgroups, Controller, Files, Hierarchy, PARENT, Stats, cpu_quota, megabytes};
use crate::error::{Feature, IsolateError, SystemError};
use crate::launch::Limits;

/// Where processes of the mount's own group go when it is not the real root and must hand out controllers.
const OTHERS: &str = "abx-host";

pub(super) fn make<F: Files>(
    cgroups: &Cgroups<F>,
    hierarchy: &Hierarchy,
    limits: &Limits,
) -> Result<(), IsolateError> {
    let parent = hierarchy.mount.join(PARENT);
    let directory = cgroups.directory(hierarchy);
    // Made in an existing parent that hands out its controllers already: all launches but the first.
    if cgroups.files.make(&directory).is_err() || !hands_out(cgroups, hierarchy, &parent) {
        let lacks = |source| IsolateError::Lacks { feature: Feature::Cgroups, source };
        cgroups.files.make(&parent).map_err(lacks)?;
        hand_out(cgroups, hierarchy, &hierarchy.mount).map_err(lacks)?;
        hand_out(cgroups, hierarchy, &parent).map_err(lacks)?;
        cgroups.files.make(&directory).map_err(lacks)?;
    }
    hierarchy.controllers.iter().try_for_each(|controller| limit(cgroups, hierarchy, *controller, limits))
}

fn limit<F: Files>(
    cgroups: &Cgroups<F>,
    hierarchy: &Hierarchy,
    controller: Controller,
    limits: &Limits,
) -> Result<(), IsolateError> {
    match controller {
        Controller::Memory => {
            let Some(memory) = limits.memory else { return Ok(()) };
            cgroups.write(hierarchy, "memory.max", &megabytes(memory).to_string())?;
            // Absent where the kernel has no swap.
            match cgroups.write(hierarchy, "memory.swap.max", "0") {
                Err(IsolateError::Cgroup { source, .. }) if source.is(Errno::NOENT) => Ok(()),
                result => result,
            }
        }
        Controller::Cpu => match limits.cpu {
            Some(cores) => cgroups.write(hierarchy, "cpu.max", &format!("{} {CPU_PERIOD}", cpu_quota(cores))),
            None => Ok(()),
        },
        Controller::Pids => match limits.pids {
            Some(pids) => cgroups.write(hierarchy, "pids.max", &pids.to_string()),
            None => Ok(()),
        },
        Controller::Freezer => Ok(()),
    }
}

fn wanted(hierarchy: &Hierarchy) -> impl Iterator<Item = &'static str> {
    // Freezing is part of every group.
    hierarchy
        .controllers
        .iter()
        .filter(|controller| **controller != Controller::Freezer)
        .map(|one| one.name())
}

fn hands_out<F: Files>(cgroups: &Cgroups<F>, hierarchy: &Hierarchy, group: &Path) -> bool {
    let handed = cgroups.files.read(&group.join("cgroup.subtree_control")).unwrap_or_default();
    wanted(hierarchy).all(|name| handed.split_whitespace().any(|one| one == name))
}

/// Hands the controllers down to the groups in `group`. A group that is not the real root (inside a
/// container) may not do so while it has processes of its own: they move into a leaf first.
fn hand_out<F: Files>(cgroups: &Cgroups<F>, hierarchy: &Hierarchy, group: &Path) -> Result<(), SystemError> {
    if hands_out(cgroups, hierarchy, group) {
        return Ok(());
    }
    let names: Vec<String> = wanted(hierarchy).map(|name| format!("+{name}")).collect();
    let control = group.join("cgroup.subtree_control");
    for _ in 0..10 {
        match cgroups.files.write(&control, &names.join(" ")) {
            Err(error) if error.is(Errno::BUSY) => move_to_leaf(cgroups, group)?,
            result => return result,
        }
    }
    Err(SystemError::from(Errno::BUSY))
}

fn move_to_leaf<F: Files>(cgroups: &Cgroups<F>, group: &Path) -> Result<(), SystemError> {
    let leaf = group.join(OTHERS);
    cgroups.files.make(&leaf)?;
    for pid in cgroups.files.read(&group.join("cgroup.procs"))?.lines() {
        // A process may end meanwhile.
        match cgroups.files.write(&leaf.join("cgroup.procs"), pid) {
            Err(error) if error.is(Errno::SRCH) => {}
            result => result?,
        }
    }
    Ok(())
}

pub(super) fn read<F: Files>(cgroups: &Cgroups<F>, hierarchy: &Hierarchy, stats: &mut Stats) {
    for controller in &hierarchy.controllers {
        match controller {
            Controller::Memory => {
                stats.memory = cgroups.read_number(hierarchy, "memory.current");
                stats.memory_limit = cgroups.read_number(hierarchy, "memory.max");
                stats.oom_kills = cgroups.read_field(hierarchy, "memory.events", "oom_kill").unwrap_or(0);
            }
            Controller::Pids => {
                stats.pids = cgroups.read_number(hierarchy, "pids.current");
                stats.pids_refused = cgroups.read_field(hierarchy, "pids.events", "max").unwrap_or(0);
            }
            Controller::Cpu => {
                stats.cpu =
                    cgroups.read_field(hierarchy, "cpu.stat", "usage_usec").map(Duration::from_micros);
            }
            Controller::Freezer => {}
        }
    }
}

pub(super) fn set_frozen<F: Files>(
    cgroups: &Cgroups<F>,
    hierarchy: &Hierarchy,
    frozen: bool,
) -> Result<(), IsolateError> {
    let wanted = u64::from(frozen);
    cgroups.write(hierarchy, "cgroup.freeze", &wanted.to_string())?;
    let deadline = Instant::now() + Duration::from_secs(5);
    while cgroups.read_field(hierarchy, "cgroup.events", "frozen") != Some(wanted) {
        if Instant::now() > deadline {
            return Err(cgroups.failed(hierarchy, "cgroup.freeze", Errno::BUSY));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

pub(super) fn kill<F: Files>(cgroups: &Cgroups<F>, hierarchy: &Hierarchy) -> Result<(), IsolateError> {
    match cgroups.write(hierarchy, "cgroup.kill", "1") {
        // The group is gone, or the kernel is older than 5.14.
        Err(IsolateError::Cgroup { source, .. }) if source.is(Errno::NOENT) => cgroups.kill_each(hierarchy),
        result => result,
    }
}
