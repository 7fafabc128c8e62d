//! A Debian root file system made from the distribution's archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::mmdebstrap::Mmdebstrap;
use crate::bench::root::sources;
use crate::failure::Failure;

const ROUNDS: usize = 3;
const RELEASE: &str = "bookworm";

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    [false, true].map(|is_cached| contest(lab, is_cached)).into_iter().collect()
}

fn contest(lab: &Lab, is_cached: bool) -> Result<Outcome, Failure> {
    let mut contest = if is_cached {
        Contest::new("bootstrap-cached", "The same with the packages at hand.", Unit::Seconds)
    } else {
        Contest::new("bootstrap", "Debian bookworm from the archive, nothing cached.", Unit::Seconds)
    };
    let template = template(lab)?;
    let folder = lab.folder("bootstrap")?;
    contest.add("abx template build", {
        let folder = folder.clone();
        move || {
            let home = folder.join("home");
            let ours = lab.ours().with_home(home.clone());
            forget(&home, is_cached)?;
            Ok(timed(ours.command(&["template", "build"]).arg(&template))?.seconds)
        }
    });
    let no_archive = || format!("this host's apt configuration has no archive of Debian {RELEASE}");
    let mmdebstrap =
        Mmdebstrap::new().and_then(|program| Ok((program, sources(RELEASE).ok_or_else(no_archive)?)));
    match mmdebstrap {
        Ok((mmdebstrap, sources)) => {
            let packages = folder.join("packages");
            std::fs::create_dir_all(&packages).map_err(Failure::file(&packages))?;
            // Most of its time on a disk goes to dpkg's syncing: without that is the stricter comparison.
            for (name, target) in [
                ("mmdebstrap --variant=minbase", folder.join("root")),
                ("mmdebstrap --variant=minbase, to memory", "/dev/shm/root".into()),
            ] {
                let mmdebstrap = mmdebstrap.clone();
                let (sources, packages) = (sources.clone(), packages.clone());
                contest.add(name, move || {
                    let cache = is_cached.then_some(packages.as_path());
                    let seconds = timed(&mut mmdebstrap.make(RELEASE, &target, &sources, cache))?.seconds;
                    quiet(
                        Command::new("rm").args(["--recursive", "--force", "--one-file-system"]).arg(&target),
                    )?;
                    Ok(seconds)
                });
            }
        }
        Err(reason) => contest.skip("mmdebstrap", reason),
    }
    Ok(match is_cached {
        // The first round fills the caches.
        true => contest.run(lab.few_rounds(ROUNDS)),
        false => contest.run_cold(lab.few_rounds(ROUNDS)),
    })
}

/// A package that is nothing but the image.
fn template(lab: &Lab) -> Result<PathBuf, Failure> {
    let folder = lab.folder("debian")?;
    let path = folder.join("template.yaml");
    let text = format!("version: \"1\"\nmetadata:\n  name: debian\nbase:\n  image: debian:{RELEASE}-slim\n");
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    Ok(folder)
}

/// Removes our state, but for downloaded packages where they may stay.
fn forget(home: &Path, is_cached: bool) -> Result<(), Failure> {
    let (downloads, kept) = (home.join("store/cache"), home.with_extension("kept"));
    let is_kept = is_cached && downloads.exists();
    if is_kept {
        std::fs::rename(&downloads, &kept).map_err(Failure::file(&downloads))?;
    }
    if home.exists() {
        std::fs::remove_dir_all(home).map_err(Failure::file(home))?;
    }
    if is_kept {
        let store = home.join("store");
        std::fs::create_dir_all(&store).map_err(Failure::file(&store))?;
        std::fs::rename(&kept, &downloads).map_err(Failure::file(&kept))?;
    }
    Ok(())
}
