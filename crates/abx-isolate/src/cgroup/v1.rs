//! One hierarchy per controller.

use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::{CPU_PERIOD, Cgroups, Controller, Files, Hierarchy, PARENT, Stats, cpu_quota, megabytes};
use crate::error::{Feature, IsolateError};
use crate::launch::Limits;

pub(super) fn make<F: Files>(
    cgroups: &Cgroups<F>,
    hierarchy: &Hierarchy,
    limits: &Limits,
) -> Result<(), IsolateError> {
    let parent = hierarchy.mount.join(PARENT);
    let directory = cgroups.directory(hierarchy);
    // The parent is there on all launches but the first.
    if cgroups.files.make(&directory).is_err() {
        for path in [&parent, &directory] {
            cgroups
                .files
                .make(path)
                .map_err(|source| IsolateError::Lacks { feature: Feature::Cgroups, source })?;
            if hierarchy.cpuset {
                inherit_cpuset(cgroups, path)?;
            }
        }
    } else if hierarchy.cpuset {
        inherit_cpuset(cgroups, &directory)?;
    }
    for controller in &hierarchy.controllers {
        limit(cgroups, hierarchy, *controller, limits)?;
    }
    Ok(())
}

/// A cpuset group starts empty, and no process can enter it so.
fn inherit_cpuset<F: Files>(cgroups: &Cgroups<F>, directory: &std::path::Path) -> Result<(), IsolateError> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        let failed =
            |source| IsolateError::Cgroup { setting: file.into(), path: directory.to_owned(), source };
        let above = directory.parent().unwrap_or(directory).join(file);
        let value = cgroups.files.read(&above).map_err(failed)?;
        cgroups.files.write(&directory.join(file), value.trim()).map_err(failed)?;
    }
    Ok(())
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
            let bytes = megabytes(memory).to_string();
            cgroups.write(hierarchy, "memory.limit_in_bytes", &bytes)?;
            // Memory and swap together, so that the limit is not twice as wide; absent without swap accounting.
            match cgroups.write(hierarchy, "memory.memsw.limit_in_bytes", &bytes) {
                Err(IsolateError::Cgroup { source, .. }) if source.is(Errno::NOENT) => Ok(()),
                result => result,
            }
        }
        Controller::Cpu => {
            let Some(cores) = limits.cpu else { return Ok(()) };
            cgroups.write(hierarchy, "cpu.cfs_period_us", &CPU_PERIOD.to_string())?;
            cgroups.write(hierarchy, "cpu.cfs_quota_us", &cpu_quota(cores).to_string())
        }
        Controller::Pids => match limits.pids {
            Some(pids) => cgroups.write(hierarchy, "pids.max", &pids.to_string()),
            None => Ok(()),
        },
        Controller::Freezer => Ok(()),
    }
}

pub(super) fn read<F: Files>(cgroups: &Cgroups<F>, hierarchy: &Hierarchy, stats: &mut Stats) {
    for controller in &hierarchy.controllers {
        match controller {
            Controller::Memory => {
                stats.memory = cgroups.read_number(hierarchy, "memory.usage_in_bytes");
                // Without a limit the file holds the largest page-aligned number.
                stats.memory_limit =
                    cgroups.read_number(hierarchy, "memory.limit_in_bytes").filter(|limit| *limit < 1 << 62);
                stats.oom_kills =
                    cgroups.read_field(hierarchy, "memory.oom_control", "oom_kill").unwrap_or(0);
            }
            Controller::Pids => {
                stats.pids = cgroups.read_number(hierarchy, "pids.current");
                stats.pids_refused = cgroups.read_field(hierarchy, "pids.events", "max").unwrap_or(0);
            }
            // cpuacct is usually mounted beside it.
            Controller::Cpu => {
                stats.cpu = cgroups.read_number(hierarchy, "cpuacct.usage").map(Duration::from_nanos);
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
    let wanted = if frozen { "FROZEN" } else { "THAWED" };
    let deadline = Instant::now() + Duration::from_secs(5);
    // The kernel stays at FREEZING while a process is in a place where it cannot be stopped; writing
    // again makes it look again.
    loop {
        cgroups.write(hierarchy, "freezer.state", wanted)?;
        match cgroups.read(hierarchy, "freezer.state") {
            Some(state) if state.trim() == wanted => return Ok(()),
            _ if Instant::now() > deadline => {
                return Err(cgroups.failed(hierarchy, "freezer.state", Errno::BUSY));
            }
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}
