//! Code in a context that keeps its state.

use crate::bench::clock::timed;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::failure::Failure;

const ROUNDS: usize = 20;
const CELL: &str = "x = 6 * 7\nprint(x)";

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    Ok(vec![first(lab), next(lab)?])
}

/// The one that starts the interpreter.
fn first(lab: &Lab) -> Outcome {
    let mut contest = Contest::new(
        "cell-first",
        "The first cell of Python in a sandbox that runs: `abx code ID 'print(6 * 7)'`, its interpreter's start \
         included; the whole process.",
        Unit::Seconds,
    );
    contest.add("abx code, first", || {
        let id = lab.ours().create("base")?;
        let ran = timed(&mut lab.ours().command(&["code", &id, CELL]));
        lab.ours().kill(&id);
        Ok(ran?.seconds)
    });
    contest.run(lab.few_rounds(ROUNDS))
}

fn next(lab: &Lab) -> Result<Outcome, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(
        "cell-next",
        "A further cell in the same context, beside a new interpreter in a running container, which keeps no state.",
        Unit::Seconds,
    );
    let id = lab.ours().create("base")?;
    let ours = id.clone();
    contest
        .add("abx code, next", move || Ok(timed(&mut lab.ours().command(&["code", &ours, CELL]))?.seconds));
    match lab.docker(&root) {
        Ok((docker, image)) => {
            let started = crate::bench::clock::quiet(&mut docker.run(
                "none",
                &["--detach", "--name", "cells"],
                &image,
                &SLEEP,
            ));
            started?;
            contest.add("docker exec python3 -c", move || {
                Ok(timed(&mut docker.command(&["exec", "cells", "python3", "-c", CELL]))?.seconds)
            });
        }
        Err(reason) => contest.skip("docker", reason),
    }
    let outcome = contest.run(lab.rounds(ROUNDS));
    lab.ours().kill(&id);
    if let Ok((docker, _)) = lab.docker(&root) {
        docker.remove("cells");
    }
    Ok(outcome)
}
