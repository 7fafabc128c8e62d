//! A large file into a running sandbox, and out of it.

use std::path::{Path, PathBuf};

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::failure::Failure;

const ROUNDS: usize = 10;
const SIZE: usize = 100_000_000;

/// Where it is inside.
const INSIDE: &str = "/root/large";

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let folder = lab.folder("files")?;
    let file = large_file(&folder)?;
    let ours = lab.ours().create("base")?;
    let root = lab.root("base")?;
    for (peer, found) in [("podman", lab.podman(&root).err()), ("docker", lab.docker(&root).err())] {
        if found.is_none() {
            start(lab, peer)?;
        }
    }
    let up = contest(
        lab,
        "files-in",
        "100 MB into a running sandbox; the whole process.",
        |command| vec![file.display().to_string(), format!("{command}{INSIDE}")],
        &ours,
    )?;
    let out = folder.join("out");
    let down = contest(
        lab,
        "files-out",
        "The same file out again.",
        |command| vec![format!("{command}{INSIDE}"), out.display().to_string()],
        &ours,
    )?;
    lab.ours().kill(&ours);
    if let Ok((podman, _)) = lab.podman(&root) {
        podman.remove("files");
    }
    if let Ok((docker, _)) = lab.docker(&root) {
        docker.remove("files");
    }
    Ok(vec![up, down])
}

fn start(lab: &Lab, peer: &str) -> Result<(), Failure> {
    let root = lab.root("base")?;
    let options = ["--detach", "--name", "files"];
    match peer {
        "podman" => match lab.podman(&root) {
            Ok((podman, image)) => quiet(&mut podman.run("none", &options, &image, &SLEEP)).map(drop),
            Err(_) => Ok(()),
        },
        _ => match lab.docker(&root) {
            Ok((docker, image)) => quiet(&mut docker.run("none", &options, &image, &SLEEP)).map(drop),
            Err(_) => Ok(()),
        },
    }
}

/// `paths` gets what goes before a path inside, and returns source and destination.
fn contest(
    lab: &Lab,
    title: &'static str,
    what: &'static str,
    paths: impl Fn(&str) -> Vec<String>,
    ours: &str,
) -> Result<Outcome, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(title, what, Unit::Seconds);
    let plain = paths("");
    let (name, verb) =
        if title == "files-in" { ("abx upload", "upload") } else { ("abx download", "download") };
    contest.add(name, move || {
        let words = ["--quiet", verb, ours, &plain[0], &plain[1]];
        Ok(timed(&mut lab.ours().command(&words))?.seconds)
    });
    let there = paths("files:");
    match lab.podman(&root) {
        Ok((podman, _)) => {
            let there = there.clone();
            contest.add("podman cp", move || Ok(timed(podman.command(&["cp"]).args(&there))?.seconds));
        }
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(&root) {
        Ok((docker, _)) => {
            contest.add("docker cp", move || Ok(timed(docker.command(&["cp"]).args(&there))?.seconds));
        }
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(contest.run(lab.few_rounds(ROUNDS)))
}

/// Bytes that nobody can make smaller.
fn large_file(folder: &Path) -> Result<PathBuf, Failure> {
    let path = folder.join("large");
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let bytes: Vec<u8> = (0..SIZE / 8)
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect();
    std::fs::write(&path, bytes).map_err(Failure::file(&path))?;
    Ok(path)
}
