//! The monitor: one process for each sandbox, which owns its life.
//!
//! [`main`] is a list: read the request, launch while there is one thread, wait until ready, report, look after
//! it, clean up. The sandbox dies with its monitor, however that ends: the daemon inside has a parent-death
//! signal, mounts live in its own namespace, the loop device detaches itself. What can stay behind (cgroup
//! directories, the entry) is found by the fallen lock, see [`crate::clean`]; the entry of a sandbox that is kept stays
//! on purpose.

mod causes;
mod claim;
mod clock;
mod end;
mod health;
mod idle;
mod inherited;
mod launch;
mod log;
mod parts;
mod plan;
mod ports;
mod ready;
mod refusals;
mod requests;
mod supervise;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use abx_client::Client;
use abx_core::{Fault, Home};
use tokio::task::JoinHandle;

use crate::start::Report;
use crate::{Cause, EndReason, EngineError, Record, State, disk};
use clock::Clock;
use end::End;
use inherited::Inherited;
use launch::Launched;
use parts::Parts;
use supervise::Supervisor;

/// First argument of the executable when it serves as a monitor.
pub const ENTRY: &str = "__monitor";

/// How long the last of a log may take to be written down.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The whole life of one sandbox, or one run of one that is kept. Must be called before anything starts a thread.
pub fn main() -> ExitCode {
    let _ = rustix::thread::set_name(c"abx-monitor");
    // SAFETY: this is the process that was started for this purpose; the descriptors are ours alone.
    let Some(mut inherited) = (unsafe { Inherited::take(std::env::args_os().skip(2)) }) else {
        return ExitCode::from(2);
    };
    let launched = match launch::launch(&mut inherited) {
        Ok(launched) => launched,
        Err(error) => {
            report(&mut inherited, &Report::failed(&error));
            put_away(&inherited, Record::read(&inherited.dir), &failed_to_start(&error));
            return ExitCode::FAILURE;
        }
    };
    let Launched { mut running, plan, mut record, _slot } = launched;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (end, cleaned) = match runtime {
        Ok(runtime) => {
            let (end, log) = runtime.block_on(live(&mut inherited, &running, plan, &mut record));
            let cleaned = running.cleanup();
            // Nobody can print any more; what was printed may still be on its way.
            runtime.block_on(async {
                if let Some(log) = log {
                    let _ = tokio::time::timeout(LAST_WORDS, log).await;
                }
            });
            runtime.shutdown_background();
            (end, cleaned)
        }
        Err(source) => {
            report(&mut inherited, &Report::failed(&EngineError::Monitor { source }));
            (End::of(EndReason::StartupFailed), running.cleanup())
        }
    };
    if let Err(error) = cleaned {
        // Nobody listens any more. The entry stays, so that `doctor` finds what is left.
        let _ = writeln!(std::io::stderr(), "{}: {error}", error.code());
        return ExitCode::FAILURE;
    }
    let record = put_away(&inherited, Some(record), &end.cause);
    inherited.let_go();
    if let Some(record) = record {
        let settings = record.settings.clone();
        end.answer(record);
        // Nobody waits any more.
        disk::refill(&inherited.home, settings.disk, settings.persistent);
    }
    ExitCode::SUCCESS
}

/// Removes the entry, or leaves it to be started again.
fn put_away(inherited: &Inherited, record: Option<Record>, cause: &Cause) -> Option<Record> {
    let Some(mut record) = record else {
        crate::clean::forget(&inherited.home, &inherited.id, None);
        return None;
    };
    if record.kept && !cause.reason.is_final() {
        record.stop(cause.clone());
        // Without it the record says that the monitor was lost, which comes to the same.
        let _ = record.write(&inherited.dir);
    } else {
        crate::clean::forget(&inherited.home, &record.id, Some(record.ended(cause.clone())));
    }
    Some(record)
}

/// From the daemon's start to the reason of the end, and whoever writes the log.
async fn live(
    inherited: &mut Inherited,
    running: &abx_isolate::Running,
    plan: plan::Plan,
    record: &mut Record,
) -> (End, Option<JoinHandle<std::io::Result<()>>>) {
    let (mut parts, log) = match Parts::new(&inherited.dir, plan) {
        Ok(parts) => parts,
        Err(error) => return (not_started(inherited, &error), None),
    };
    let mut clock = Clock::default();
    let ready = tokio::select! {
        ready = async {
            let creator = inherited.report.as_ref();
            ready::wait(&record.settings, running, &mut parts.guest, &parts.client, creator).await?;
            name_shell(record, &parts.client).await;
            announce(inherited, record, &mut clock)
        } => ready,
        stream = requests::kill(&mut parts.asked) => {
            report(inherited, &Report::failed(&EngineError::Killed));
            return (End::asked(EndReason::Killed, stream), Some(log));
        }
    };
    if let Err(error) = ready {
        return (not_started(inherited, &error), Some(log));
    }
    let tie = if record.pooled { inherited.report.take() } else { None };
    inherited.report = None;
    let supervisor = Supervisor::new(inherited, running, record, clock);
    (supervisor.supervise(parts, tie).await, Some(log))
}

fn not_started(inherited: &mut Inherited, error: &EngineError) -> End {
    report(inherited, &Report::failed(error));
    End::of(failed_to_start(error))
}

/// A limit that was hit while it started is the reason of its own.
fn failed_to_start(error: &EngineError) -> Cause {
    match error {
        EngineError::Limit { limit, number, .. } => {
            let reason = if *limit == ready::MEMORY { EndReason::Memory } else { EndReason::Disk };
            Cause::of(reason, *number)
        }
        error => Cause { detail: Some(error.to_string()), ..EndReason::StartupFailed.into() },
    }
}

/// Which shell it is where the template leaves that to the image.
async fn name_shell(record: &mut Record, client: &Client) {
    if record.settings.shell.is_empty()
        && let Ok(info) = client.info().await
    {
        record.settings.shell = info.shell;
    }
}

/// Records that it is ready and tells the creator.
fn announce(inherited: &mut Inherited, record: &mut Record, clock: &mut Clock) -> Result<(), EngineError> {
    record.state = State::Running;
    record.kept |= record.settings.persistent && !record.pooled;
    if !record.pooled {
        match inherited.timeout {
            Some(seconds) => clock.set(record, Some(seconds)),
            None => clock.wind(record),
        }
    }
    record.write(&inherited.dir).map_err(EngineError::state(&inherited.dir))?;
    if record.kept {
        crate::clean::keep(&inherited.home, &inherited.dir).map_err(EngineError::state(&inherited.dir))?;
    }
    if !report(inherited, &Report::Ready(Box::new(record.clone()))) {
        return Err(EngineError::CreatorGone);
    }
    refill_disks_later(&inherited.home, &record.settings);
    Ok(())
}

/// A moment later: whoever waits for the sandbox begins to use it now.
fn refill_disks_later(home: &Home, settings: &crate::SandboxSettings) {
    let (home, size, durable) = (home.clone(), settings.disk, settings.persistent);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let _ = tokio::task::spawn_blocking(move || disk::refill(&home, size, durable)).await;
    });
}

/// Tells the creator, in one line; `false` when it is gone.
fn report(inherited: &mut Inherited, report: &Report) -> bool {
    let Some(pipe) = &mut inherited.report else { return false };
    let Ok(mut line) = serde_json::to_vec(report) else { return false };
    line.push(b'\n');
    pipe.write_all(&line).is_ok()
}
