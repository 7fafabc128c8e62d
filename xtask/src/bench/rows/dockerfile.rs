//! A Dockerfile built cold, all cached, and with one file changed; the same file by everybody, over the same root.

use std::path::Path;
use std::process::Command;

use crate::bench::clock::timed;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::rows::project::{Kind, Project};
use crate::failure::Failure;

const COLD_ROUNDS: usize = 3;
const ROUNDS: usize = 15;

/// How far the caches carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Cold,
    Cached,
    OneFile,
}

/// Who builds: the name, its own copy of what is built, and the command but for the folder.
struct Builder<'l> {
    name: &'static str,
    project: Project,
    command: Box<dyn Fn() -> Command + 'l>,
}

pub(crate) fn run(lab: &Lab, kind: Kind) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root(kind.template())?.with_host_network(lab)?;
    let place = |name: &str| lab.folder(&format!("{kind:?}-{name}").to_lowercase());
    let mut builders = vec![Builder {
        name: "abx template build",
        project: Project::write(kind, place("ours")?, kind.template())?,
        command: Box::new(|| lab.ours().command(&["template", "build", "--name", "bench"])),
    }];
    let mut skipped = Vec::new();
    match lab.docker(&root) {
        Ok((docker, image)) => builders.push(Builder {
            name: "docker build (BuildKit)",
            project: Project::write(kind, place("docker")?, &image)?,
            command: Box::new(move || {
                docker.command(&["build", "--quiet", "--network", "host", "--tag", "bench"])
            }),
        }),
        Err(reason) => skipped.push(("docker", reason)),
    }
    match lab.buildah(&root) {
        Ok((buildah, image)) => builders.push(Builder {
            name: "buildah build",
            project: Project::write(kind, place("buildah")?, &image)?,
            command: Box::new(move || {
                buildah.command(&["build", "--quiet", "--isolation", "chroot", "--layers", "--tag", "bench"])
            }),
        }),
        Err(reason) => skipped.push(("buildah", reason)),
    }
    let cases = [Case::Cold, Case::Cached, Case::OneFile];
    Ok(cases.into_iter().map(|case| contest(lab, kind, case, &builders, &skipped)).collect())
}

fn contest(
    lab: &Lab,
    kind: Kind,
    case: Case,
    builders: &[Builder<'_>],
    skipped: &[(&'static str, String)],
) -> Outcome {
    let (title, what) = question(kind, case);
    let mut contest = Contest::new(title, what, Unit::Seconds);
    for builder in builders {
        contest.add(builder.name, || build(builder, case));
    }
    for (name, reason) in skipped {
        contest.skip(*name, reason);
    }
    match case {
        Case::Cold => contest.run_cold(lab.few_rounds(COLD_ROUNDS)),
        _ => contest.run(lab.few_rounds(ROUNDS)),
    }
}

fn build(builder: &Builder<'_>, case: Case) -> Result<f64, Failure> {
    match case {
        Case::Cold => builder.project.renew(fresh())?,
        Case::Cached => {}
        Case::OneFile => builder.project.change_file(fresh())?,
    }
    let folder: &Path = builder.project.folder();
    Ok(timed((builder.command)().arg(folder))?.seconds)
}

/// A number that no build of any state has seen.
fn fresh() -> usize {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as usize)
}

fn question(kind: Kind, case: Case) -> (&'static str, &'static str) {
    match (kind, case) {
        (Kind::Packages, Case::Cold) => (
            "dockerfile-cold",
            "A Dockerfile: apt 3 packages, pip 2 packages, 200 files copied; no step of it cached.",
        ),
        (Kind::Packages, Case::Cached) => ("dockerfile-cached", "The same again, all cached."),
        (Kind::Packages, Case::OneFile) => ("dockerfile-one-file", "The same with one file changed."),
        (Kind::Stages, Case::Cold) => (
            "stages-cold",
            "Ten stages with a COPY and a RUN each, and one that copies from all; nothing cached.",
        ),
        (Kind::Stages, Case::Cached) => ("stages-cached", "The same again, all cached."),
        (Kind::Stages, Case::OneFile) => ("stages-one-file", "The same with a file of one stage changed."),
        (Kind::Files, Case::Cold) => ("copy-cold", "5,000 files copied by one COPY that is not cached."),
        (Kind::Files, Case::Cached) => ("copy-cached", "The same again, cached."),
        (Kind::Files, Case::OneFile) => ("copy-one-file", "The same with one file changed."),
    }
}
