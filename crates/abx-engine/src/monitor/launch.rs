//! Everything up to the daemon's start, in one thread.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use abx_isolate::{Running, Slot, Slots};

use super::inherited::Inherited;
use super::plan::Plan;
use super::{ports, refusals};
use crate::record::{boot_id, now};
use crate::{EngineError, Health, Record, State};

/// A sandbox whose daemon runs.
pub(super) struct Launched {
    pub running: Running,
    pub plan: Plan,
    pub record: Record,
    /// The ids and addresses are taken until nothing of the sandbox uses them.
    pub _slot: Slot,
}

/// How long what is left of an earlier run may take to be gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// Launches what the request asks for.
pub(super) fn launch(inherited: &mut Inherited) -> Result<Launched, EngineError> {
    let mut record = record(inherited);
    record.write(&inherited.dir).map_err(EngineError::state(&inherited.dir))?;
    if inherited.before.is_some() {
        sweep(inherited)?;
        prefer_ports(inherited);
    }
    let slot = Slots::of_host()?.take()?;
    let plan = Plan::new(inherited, &slot)?;
    let running = abx_isolate::launch(&plan.launch, &plan.relays)?;
    refusals::write_down(&running, plan.log_end());
    record.ids.get_or_insert(slot.ids());
    record.init = running.pid();
    record.ports = ports::mappings(&running);
    Ok(Launched { running, plan, record, _slot: slot })
}

/// What is known of the sandbox at its start.
fn record(inherited: &Inherited) -> Record {
    let settings = inherited.settings.clone();
    let fresh = Record {
        id: inherited.id.clone(),
        created: now(),
        ends: None,
        state: State::Starting,
        health: if settings.healthcheck.is_some() { Health::Starting } else { Health::None },
        ports: Vec::new(),
        monitor: std::process::id(),
        init: 0,
        kept: false,
        stopped: None,
        ids: None,
        boot: boot_id(),
        pooled: inherited.pooled,
        settings,
    };
    match &inherited.before {
        Some(before) => Record {
            created: before.created,
            ports: before.ports.clone(),
            kept: before.kept,
            ids: before.ids,
            ..fresh
        },
        None => fresh,
    }
}

/// Removes what an earlier run has left, and waits until its disk is nobody's.
fn sweep(inherited: &Inherited) -> Result<(), EngineError> {
    crate::clean::remove_traces(&inherited.id)?;
    for name in ["guest.sock", "control.sock"] {
        let path = inherited.dir.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(EngineError::state(path)(error));
            }
            _ => {}
        }
    }
    let disk = inherited.dir.join("disk.ext4");
    let end = Instant::now() + PATIENCE;
    while abx_isolate::disk_in_use(&disk)? {
        if Instant::now() >= end {
            return Err(EngineError::DiskInUse { path: disk });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Ports that could be any are those they were, where nobody has taken them.
fn prefer_ports(inherited: &mut Inherited) {
    let Some(before) = &inherited.before else { return };
    for port in inherited.settings.ports.iter_mut().filter(|port| port.host.is_none()) {
        let known = before.ports.iter().find(|known| known.guest == port.guest);
        port.host = known
            .map(|known| known.host)
            .filter(|host| TcpListener::bind(host).is_ok())
            .map(|host| host.port());
    }
}
