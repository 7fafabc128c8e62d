//! How many idle sandboxes a machine holds.

use std::time::Duration;

use crate::bench::clock::quiet;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::failure::Failure;

const ROUNDS: usize = 3;
/// Alive at the same time.
const SANDBOXES: usize = 50;
const MACHINE: f64 = 8.0 * 1024.0 * 1024.0 * 1024.0;

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(
        "capacity",
        "Idle sandboxes without a network that 8 GiB hold: 8 GiB by what the machine has less of available memory \
         for each of fifty that run (processes, page cache that cannot be dropped, kernel memory; daemons that all \
         share not counted). Only a machine that does nothing else tells the truth.",
        Unit::Count,
    );
    contest.add("abx", || {
        held(
            || lab.ours().create("base"),
            |ids| {
                let mut words = vec!["kill"];
                words.extend(ids.iter().map(String::as_str));
                let _ = quiet(&mut lab.ours().command(&words));
            },
        )
    });
    match lab.podman(&root) {
        Ok((podman, image)) => contest.add("podman", move || {
            let create = || quiet(&mut podman.run("none", &["--detach"], &image, &SLEEP));
            held(create, |ids| ids.iter().for_each(|id| podman.remove(id)))
        }),
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(&root) {
        Ok((docker, image)) => contest.add("docker", move || {
            let create = || quiet(&mut docker.run("none", &["--detach"], &image, &SLEEP));
            held(create, |ids| ids.iter().for_each(|id| docker.remove(id)))
        }),
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(vec![contest.run_cold(lab.few_rounds(ROUNDS))])
}

fn held(create: impl Fn() -> Result<String, Failure>, remove: impl Fn(&[String])) -> Result<f64, Failure> {
    let before = available();
    let ids: Vec<_> = (0..SANDBOXES).map(|_| create().map(|id| id.trim().to_owned())).collect();
    // Start-up is over when nothing has happened for a while.
    std::thread::sleep(Duration::from_secs(2));
    let taken = before - available();
    let made: Vec<String> = ids.iter().flatten().cloned().collect();
    remove(&made);
    ids.into_iter().collect::<Result<Vec<_>, _>>()?;
    std::thread::sleep(Duration::from_secs(2));
    if taken <= 0.0 {
        return Err(Failure::unexpected("available memory", "grew: the machine does something else"));
    }
    Ok(MACHINE / (taken / SANDBOXES as f64))
}

/// Bytes that new programs could have.
fn available() -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or_default() * 1024.0
}
