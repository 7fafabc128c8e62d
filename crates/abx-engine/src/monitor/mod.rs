//! The monitor: one process for each sandbox, which owns its life.
//!
//! [`main`] is a list: read the request, launch while there is one thread, wait until ready, report, look after
//! it, clean up. The sandbox dies with its monitor, however that ends: the daemon inside has a parent-death
//! signal, mounts live in its own namespace, the loop device detaches itself. What can stay behind (cgroup
//! directories, the entry) is found by the fallen lock, see [`crate::clean`].

mod health;
mod idle;
mod inherited;
mod log;
mod plan;
mod ready;
mod supervise;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use abx_core::{Fault, Home};
use abx_isolate::{Running, Slot, Slots};

use crate::create::Report;
use crate::record::now;
use crate::{EndReason, EngineError, Health, PortMapping, Record, State, disk};
use inherited::Inherited;
use plan::Plan;
use supervise::End;

/// First argument of the executable when it serves as a monitor.
pub const ENTRY: &str = "__monitor";

/// The whole life of one sandbox. Must be called before anything starts a thread.
pub fn main() -> ExitCode {
    let _ = rustix::thread::set_name(c"abx-monitor");
    // SAFETY: this is the process that `create` started for this purpose; the descriptors are ours alone.
    let Some(mut inherited) = (unsafe { Inherited::take(std::env::args_os().skip(2)) }) else {
        return ExitCode::from(2);
    };
    // The ids and addresses are taken until nothing of the sandbox uses them.
    let (mut running, plan, mut record, _slot) = match launch(&inherited) {
        Ok(launched) => launched,
        Err(error) => {
            report(&mut inherited, &Report::failed(&error));
            crate::clean::forget(&inherited.home, &inherited.id, None);
            return ExitCode::FAILURE;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let end = match runtime {
        Ok(runtime) => {
            let end = runtime.block_on(live(&mut inherited, &running, plan, &mut record));
            runtime.shutdown_background();
            end
        }
        Err(source) => {
            report(&mut inherited, &Report::failed(&EngineError::Monitor { source }));
            End::of(EndReason::StartupFailed)
        }
    };
    if let Err(error) = running.cleanup() {
        // Nobody listens any more. The entry stays, so that `doctor` finds what is left.
        let _ = writeln!(std::io::stderr(), "{}: {error}", error.code());
        return ExitCode::FAILURE;
    }
    crate::clean::forget(&inherited.home, &record.id, Some(record.ended(end.reason)));
    inherited.let_go();
    end.answer();
    // Nobody waits any more.
    disk::refill(&inherited.home, record.settings.disk);
    ExitCode::SUCCESS
}

/// Everything up to the daemon's start, in one thread.
fn launch(inherited: &Inherited) -> Result<(Running, Plan, Record, Slot), EngineError> {
    let settings = inherited.settings.clone();
    let mut record = Record {
        id: inherited.id.clone(),
        created: now(),
        ends: (settings.timeout > 0).then(|| now() + settings.timeout),
        state: State::Starting,
        health: if settings.healthcheck.is_some() { Health::Starting } else { Health::None },
        ports: Vec::new(),
        monitor: std::process::id(),
        init: 0,
        settings,
    };
    record.write(&inherited.dir).map_err(EngineError::state(&inherited.dir))?;
    let slot = Slots::of_host()?.take()?;
    let plan = Plan::new(inherited, &slot)?;
    let running = abx_isolate::launch(&plan.launch, &plan.relays)?;
    record.init = running.pid();
    record.ports =
        running.ports().iter().map(|port| PortMapping { guest: port.guest, host: port.listen }).collect();
    Ok((running, plan, record, slot))
}

/// From the daemon's start to the reason of the end.
async fn live(inherited: &mut Inherited, running: &Running, plan: Plan, record: &mut Record) -> End {
    let mut parts = match supervise::Parts::new(&inherited.dir, plan) {
        Ok(parts) => parts,
        Err(error) => return not_started(inherited, &error),
    };
    tokio::select! {
        ready = ready::wait(
            &record.settings, running, &mut parts.guest, &parts.client, inherited.report.as_ref(),
        ) => {
            if let Err(error) = ready.and_then(|()| announce(inherited, record)) {
                return not_started(inherited, &error);
            }
        }
        end = supervise::killed(&mut parts.asked) => {
            report(inherited, &Report::failed(&EngineError::Killed));
            return end;
        }
    }
    supervise::supervise(&inherited.dir, running, parts, record).await
}

fn not_started(inherited: &mut Inherited, error: &EngineError) -> End {
    report(inherited, &Report::failed(error));
    End::of(EndReason::StartupFailed)
}

/// Records that it is ready and tells the creator.
fn announce(inherited: &mut Inherited, record: &mut Record) -> Result<(), EngineError> {
    record.state = State::Running;
    record.write(&inherited.dir).map_err(EngineError::state(&inherited.dir))?;
    if !report(inherited, &Report::Ready(Box::new(record.clone()))) {
        return Err(EngineError::CreatorGone);
    }
    refill_disks_later(&inherited.home, record.settings.disk);
    Ok(())
}

/// A moment later: whoever waits for the sandbox begins to use it now.
fn refill_disks_later(home: &Home, size: u64) {
    let home = home.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let _ = tokio::task::spawn_blocking(move || disk::refill(&home, size)).await;
    });
}

/// Tells the creator; `false` when it is gone.
fn report(inherited: &mut Inherited, report: &Report) -> bool {
    let Some(mut pipe) = inherited.report.take() else { return false };
    serde_json::to_vec(report).is_ok_and(|bytes| pipe.write_all(&bytes).is_ok())
}
