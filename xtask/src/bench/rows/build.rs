//! A template built cold, all cached, and with one file changed; against a Dockerfile of the same steps.

use std::cell::Cell;

use crate::bench::clock::timed;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::ours::Ours;
use crate::bench::peers::buildah::Buildah;
use crate::bench::peers::docker::Docker;
use crate::bench::rows::package::Package;
use crate::failure::Failure;

const COLD_ROUNDS: usize = 3;
const CACHED_ROUNDS: usize = 15;

/// How far the caches carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Cold,
    Downloaded,
    Cached,
    OneFile,
}

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("python-base")?.with_host_network(lab)?;
    let package = Package::write(lab.folder("package")?)?;
    let (docker, buildah) = (lab.docker(&root), lab.buildah(&root));
    let cases = [Case::Cold, Case::Downloaded, Case::Cached, Case::OneFile];
    cases.into_iter().map(|case| contest(case, lab, &package, &docker, &buildah)).collect()
}

fn contest(
    case: Case,
    lab: &Lab,
    package: &Package,
    docker: &Result<(&Docker, String), String>,
    buildah: &Result<(&Buildah, String), String>,
) -> Result<Outcome, Failure> {
    let mut contest = Contest::new(case.title(), case.what(), Unit::Seconds);
    let round = Cell::new(0);
    contest.add("abx template build", || ours(case, lab.ours(), package, &round));
    match docker {
        Ok((docker, image)) => contest.add("docker build (BuildKit)", || {
            package.write_dockerfile(image)?;
            let mut arguments = vec!["build", "--quiet", "--network", "host", "--tag", "bench"];
            arguments.extend(case.is_fresh().then_some("--no-cache"));
            if case == Case::OneFile {
                package.change_file(next(&round))?;
            }
            Ok(timed(docker.command(&arguments).arg(package.context()))?.seconds)
        }),
        Err(reason) => contest.skip("docker", reason),
    }
    match buildah {
        Ok((buildah, image)) => contest.add("buildah build", || {
            package.write_dockerfile(image)?;
            let mut arguments =
                vec!["build", "--quiet", "--isolation", "chroot", "--layers", "--tag", "bench"];
            arguments.extend(case.is_fresh().then_some("--no-cache"));
            if case == Case::OneFile {
                package.change_file(next(&round))?;
            }
            Ok(timed(buildah.command(&arguments).arg(package.context()))?.seconds)
        }),
        Err(reason) => contest.skip("buildah", reason),
    }
    Ok(match case.is_fresh() {
        true => contest.run_cold(lab.few_rounds(COLD_ROUNDS)),
        false => contest.run(lab.few_rounds(CACHED_ROUNDS)),
    })
}

fn ours(case: Case, ours: &Ours, package: &Package, round: &Cell<usize>) -> Result<f64, Failure> {
    match case {
        Case::Cold => {
            forget_downloads(ours)?;
            package.new_steps(fresh())?;
        }
        Case::Downloaded => package.new_steps(fresh())?,
        Case::Cached => {}
        Case::OneFile => package.change_file(next(round))?,
    }
    let template = package.template();
    Ok(timed(ours.command(&["template", "build"]).arg(&template))?.seconds)
}

/// Empties the caches of downloads, so that a cold build fetches what the others' fetch.
fn forget_downloads(ours: &Ours) -> Result<(), Failure> {
    for tool in ["apt", "pip", "uv", "npm"] {
        let cache = ours.home().join("store/cache").join(tool);
        if cache.exists() {
            std::fs::remove_dir_all(&cache).map_err(Failure::file(&cache))?;
        }
    }
    Ok(())
}

/// A number that no build of this state directory has seen, earlier runs included.
fn fresh() -> usize {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as usize)
}

fn next(round: &Cell<usize>) -> usize {
    round.set(round.get() + 1);
    round.get()
}

impl Case {
    fn is_fresh(self) -> bool {
        matches!(self, Self::Cold | Self::Downloaded)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Cold => "build-cold",
            Self::Downloaded => "build-downloaded",
            Self::Cached => "build-cached",
            Self::OneFile => "build-one-file",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Cold => "Over `python-base`: apt 3 packages, pip 2 packages, 200 files; nothing cached.",
            Self::Downloaded => {
                "The same with every step new to us, our caches of downloads kept (the others have none)."
            }
            Self::Cached => "The same again, all cached.",
            Self::OneFile => "The same with one of the 200 files changed.",
        }
    }
}
