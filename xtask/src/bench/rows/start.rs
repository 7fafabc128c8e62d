//! Create to first answer.

use std::cell::Cell;

use crate::bench::clock::timed;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::bench::peers::bwrap::Bwrap;
use crate::bench::peers::docker::Docker;
use crate::bench::peers::oci::Oci;
use crate::bench::peers::podman::Podman;
use crate::bench::root::Root;
use crate::bench::rows::TRUE;
use crate::failure::Failure;

const ROUNDS: usize = 50;

/// Without a network: one process from start to end, and a sandbox that stays with a first command in it.
pub(crate) fn without_network(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("base")?;
    Ok(vec![foreground(lab, &root)?, detached(lab, &root)?])
}

fn foreground(lab: &Lab, root: &Root) -> Result<Outcome, Failure> {
    let mut contest = Contest::new(
        "start-none",
        "Create, run `/bin/true`, remove; no network; the whole process.",
        Unit::Seconds,
    );
    contest.add("abx create --rm", ours_foreground(lab, "none"));
    for name in ["crun", "runc"] {
        match Oci::new(name, lab, root) {
            Ok(oci) => {
                let number = Counter::default();
                contest.add(format!("{name} run"), move || {
                    let bundle = oci.bundle(&number.next(), &TRUE)?;
                    Ok(timed(&mut bundle.run(false))?.seconds)
                });
            }
            Err(reason) => contest.skip(name, reason),
        }
    }
    match Bwrap::new() {
        Ok(bwrap) => {
            let folder = lab.folder("bwrap")?;
            contest.add("bwrap (no limits)", move || {
                let overlay = root.overlay(&folder.join("run"))?;
                Ok(timed(&mut bwrap.run(&overlay.root(), &TRUE))?.seconds)
            });
        }
        Err(reason) => contest.skip("bwrap", reason),
    }
    add_podman(&mut contest, lab, root, "none")?;
    add_docker(&mut contest, lab, root, "none")?;
    Ok(contest.run(lab.rounds(ROUNDS)))
}

fn detached(lab: &Lab, root: &Root) -> Result<Outcome, Failure> {
    let mut contest = Contest::new(
        "start-detached",
        "Create a sandbox that stays, without a network, and run `/bin/true` in it; removal off the clock.",
        Unit::Seconds,
    );
    contest.add("abx create, exec", || {
        let created = timed(&mut lab.ours().command(&["create", "base", "--network", "none"]))?;
        let id = created.stdout.trim();
        let answer = timed(&mut lab.ours().command(&["exec", id, "--", TRUE[0]]));
        lab.ours().kill(id);
        Ok(created.seconds + answer?.seconds)
    });
    for name in ["crun", "runc"] {
        match Oci::new(name, lab, root) {
            Ok(oci) => {
                let number = Counter::default();
                contest.add(format!("{name} run --detach, exec"), move || {
                    let bundle = oci.bundle(&number.next(), &SLEEP)?;
                    Ok(timed(&mut bundle.run(true))?.seconds + timed(&mut bundle.exec(&TRUE))?.seconds)
                });
            }
            Err(reason) => contest.skip(name, reason),
        }
    }
    match lab.podman(root) {
        Ok((podman, image)) => {
            contest.add("podman run --detach, exec", move || podman_detached(podman, &image));
        }
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(root) {
        Ok((docker, image)) => {
            contest.add("docker run --detach, exec", move || docker_detached(docker, &image));
        }
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(contest.run(lab.rounds(ROUNDS)))
}

fn podman_detached(podman: &Podman, image: &str) -> Result<f64, Failure> {
    let created = timed(&mut podman.run("none", &["--detach"], image, &SLEEP))?;
    let id = created.stdout.trim();
    let answer = timed(&mut podman.command(&["exec", id, TRUE[0]]));
    podman.remove(id);
    Ok(created.seconds + answer?.seconds)
}

fn docker_detached(docker: &Docker, image: &str) -> Result<f64, Failure> {
    let created = timed(&mut docker.run("none", &["--detach"], image, &SLEEP))?;
    let id = created.stdout.trim();
    let answer = timed(&mut docker.command(&["exec", id, TRUE[0]]));
    docker.remove(id);
    Ok(created.seconds + answer?.seconds)
}

/// With the network everybody sets up by default.
pub(crate) fn with_network(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(
        "start-net",
        "Create, run `/bin/true`, remove; with the default (bridged, translated) network; the whole process.",
        Unit::Seconds,
    );
    contest.add("abx create --rm", ours_foreground(lab, "default"));
    add_podman(&mut contest, lab, &root, "bridge")?;
    add_docker(&mut contest, lab, &root, "bridge")?;
    Ok(vec![contest.run(lab.rounds(ROUNDS))])
}

fn ours_foreground<'a>(lab: &'a Lab, network: &'static str) -> impl FnMut() -> Result<f64, Failure> + 'a {
    move || {
        let arguments = ["create", "base", "--network", network, "--rm", "--", TRUE[0]];
        Ok(timed(&mut lab.ours().command(&arguments))?.seconds)
    }
}

fn add_podman<'a>(
    contest: &mut Contest<'a>,
    lab: &'a Lab,
    root: &Root,
    network: &'static str,
) -> Result<(), Failure> {
    match lab.podman(root) {
        Ok((podman, image)) => {
            contest.add("podman run --rm", move || {
                Ok(timed(&mut podman.run(network, &["--rm"], &image, &TRUE))?.seconds)
            });
        }
        Err(reason) => contest.skip("podman", reason),
    }
    Ok(())
}

fn add_docker<'a>(
    contest: &mut Contest<'a>,
    lab: &'a Lab,
    root: &Root,
    network: &'static str,
) -> Result<(), Failure> {
    match lab.docker(root) {
        Ok((docker, image)) => {
            contest.add("docker run --rm", move || {
                Ok(timed(&mut docker.run(network, &["--rm"], &image, &TRUE))?.seconds)
            });
        }
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(())
}

/// Names for containers, each used once.
#[derive(Default)]
struct Counter(Cell<usize>);

impl Counter {
    fn next(&self) -> String {
        self.0.set(self.0.get() + 1);
        format!("start-{}", self.0.get())
    }
}
