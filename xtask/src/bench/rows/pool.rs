//! A sandbox that waits, taken.

use std::time::Duration;

use crate::bench::clock::{attempt, quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::failure::Failure;

const ROUNDS: usize = 30;
/// How many wait.
const SIZE: &str = "4";
/// In this time the place of one that was taken is filled again.
const REFILL: Duration = Duration::from_secs(1);

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let mut contest = Contest::new(
        "pool-claim",
        "A sandbox with the default network: one that waits in a pool taken, and one created (of another size, which \
         the pool has not); the whole process.",
        Unit::Seconds,
    );
    quiet(&mut lab.ours().command(&["pool", "base", "--size", SIZE]))?;
    std::thread::sleep(4 * REFILL);
    contest.add("abx create, from a pool", || create(lab, &[]));
    contest.add("abx create, anew", || create(lab, &["--memory", "2049"]));
    let outcome = contest.run(lab.few_rounds(ROUNDS));
    attempt(&mut lab.ours().command(&["pool", "base", "--size", "0"]));
    Ok(vec![outcome])
}

fn create(lab: &Lab, options: &[&str]) -> Result<f64, Failure> {
    std::thread::sleep(REFILL);
    let ran = timed(&mut lab.ours().command(&[&["create", "base"], options].concat()))?;
    lab.ours().kill(ran.stdout.trim());
    Ok(ran.seconds)
}
