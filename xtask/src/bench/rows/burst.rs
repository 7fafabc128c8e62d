//! Many creates, ten at once.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::bench::clock::timed;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::bwrap::Bwrap;
use crate::bench::peers::oci::Oci;
use crate::bench::rows::TRUE;
use crate::failure::Failure;

/// Bursts measured.
const ROUNDS: usize = 5;
/// Creates of one burst.
const CREATES: usize = 60;
/// Of them at once.
const AT_ONCE: usize = 10;

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(
        "burst",
        "Creates a second: 60 times create, run `/bin/true`, remove, ten at once, without a network.",
        Unit::PerSecond,
    );
    contest.add("abx create --rm", || {
        burst(
            (0..CREATES)
                .map(|_| lab.ours().command(&["create", "base", "--network", "none", "--rm", "--", TRUE[0]])),
        )
    });
    for name in ["crun", "runc"] {
        match Oci::new(name, lab, &root) {
            Ok(oci) => contest.add(format!("{name} run"), move || {
                let bundles = (0..CREATES).map(|number| oci.bundle(&format!("burst-{number}"), &TRUE));
                let bundles = bundles.collect::<Result<Vec<_>, _>>()?;
                burst(bundles.iter().map(|bundle| bundle.run(false)))
            }),
            Err(reason) => contest.skip(name, reason),
        }
    }
    match Bwrap::new() {
        Ok(bwrap) => {
            let folder = lab.folder("bwrap")?;
            let root = &root;
            contest.add("bwrap (no limits)", move || {
                let overlays =
                    (0..CREATES).map(|number| root.overlay(&folder.join(format!("burst-{number}"))));
                let overlays = overlays.collect::<Result<Vec<_>, _>>()?;
                burst(overlays.iter().map(|overlay| bwrap.run(&overlay.root(), &TRUE)))
            });
        }
        Err(reason) => contest.skip("bwrap", reason),
    }
    match lab.podman(&root) {
        Ok((podman, image)) => {
            contest.add("podman run --rm", move || {
                burst((0..CREATES).map(|_| podman.run("none", &["--rm"], &image, &TRUE)))
            });
        }
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(&root) {
        Ok((docker, image)) => {
            contest.add("docker run --rm", move || {
                burst((0..CREATES).map(|_| docker.run("none", &["--rm"], &image, &TRUE)))
            });
        }
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(vec![contest.run(lab.few_rounds(ROUNDS))])
}

/// Runs all commands, [`AT_ONCE`] at a time, and returns how many that were a second.
fn burst(commands: impl Iterator<Item = Command>) -> Result<f64, Failure> {
    let commands: Vec<Mutex<Command>> = commands.map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Each is taken once, so the lock is free.
            let mut command = command.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            timed(&mut command)?;
        }
        Ok(())
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(commands.len() as f64 / start.elapsed().as_secs_f64())
}
