//! A command in a running sandbox.

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::bench::peers::oci::Oci;
use crate::bench::rows::TRUE;
use crate::failure::Failure;

const ROUNDS: usize = 50;

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(
        "exec",
        "`/bin/true` in a running sandbox without a network; the whole process.",
        Unit::Seconds,
    );
    let id = lab.ours().create("base")?;
    let ours = id.clone();
    contest.add("abx exec", move || {
        Ok(timed(&mut lab.ours().command(&["exec", &ours, "--", TRUE[0]]))?.seconds)
    });
    for name in ["crun", "runc"] {
        match Oci::new(name, lab, &root) {
            Ok(oci) => {
                let bundle = oci.bundle("exec", &SLEEP)?;
                quiet(&mut bundle.run(true))?;
                contest.add(format!("{name} exec"), move || Ok(timed(&mut bundle.exec(&TRUE))?.seconds));
            }
            Err(reason) => contest.skip(name, reason),
        }
    }
    match lab.podman(&root) {
        Ok((podman, image)) => {
            quiet(&mut podman.run("none", &["--detach", "--name", "exec"], &image, &SLEEP))?;
            contest
                .add("podman exec", || Ok(timed(&mut podman.command(&["exec", "exec", TRUE[0]]))?.seconds));
        }
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(&root) {
        Ok((docker, image)) => {
            quiet(&mut docker.run("none", &["--detach", "--name", "exec"], &image, &SLEEP))?;
            contest
                .add("docker exec", || Ok(timed(&mut docker.command(&["exec", "exec", TRUE[0]]))?.seconds));
        }
        Err(reason) => contest.skip("docker", reason),
    }

    let outcome = contest.run(lab.rounds(ROUNDS));
    lab.ours().kill(&id);
    if let Ok((podman, _)) = lab.podman(&root) {
        podman.remove("exec");
    }
    if let Ok((docker, _)) = lab.docker(&root) {
        docker.remove("exec");
    }
    Ok(vec![outcome])
}
