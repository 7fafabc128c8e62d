//! An image pushed to a registry, and pulled from it.

use std::path::Path;

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::github::fresh;
use crate::bench::lab::Lab;
use crate::bench::peers::registry::{Registry, Skopeo};
use crate::failure::Failure;

const ROUNDS: usize = 10;

/// The template whose image it is.
const TEMPLATE: &str = "python-base";

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    Ok(vec![push(lab)?, pull(lab)?])
}

fn push(lab: &Lab) -> Result<Outcome, Failure> {
    let place = lab.folder("registry")?;
    let mut contest = Contest::new(
        "push",
        "The image of `python-base` to an empty docker-registry on the loopback. Ours keeps layers unpacked and compresses them on the way; skopeo does so, or has them compressed.",
        Unit::Seconds,
    );
    contest.add("abx template push", || {
        let registry = started(&place)?;
        let mut command = lab.ours().command(&["--quiet", "template", "push", TEMPLATE, &registry.image()]);
        Ok(timed(&mut command)?.seconds)
    });
    match Skopeo::new() {
        Ok(skopeo) => {
            let layout = layout(lab, &skopeo)?;
            let stored = Skopeo::stored(&lab.folder("stored")?);
            quiet(&mut skopeo.copy(&layout, &stored))?;
            for (name, source) in [("skopeo copy, unpacked", stored), ("skopeo copy, compressed", layout)] {
                let (skopeo, place) = (skopeo.clone(), place.clone());
                contest.add(name, move || {
                    let registry = started(&place)?;
                    Ok(timed(&mut skopeo.copy(&source, &registry.image()))?.seconds)
                });
            }
        }
        Err(reason) => contest.skip("skopeo copy", reason),
    }
    Ok(contest.run(lab.few_rounds(ROUNDS)))
}

fn pull(lab: &Lab) -> Result<Outcome, Failure> {
    let registry = started(&lab.folder("registry")?)?;
    let (image, place) = (registry.image(), lab.folder("pulled")?);
    quiet(&mut lab.ours().command(&["--quiet", "template", "push", TEMPLATE, &image]))?;
    let mut contest = Contest::new(
        "pull",
        "The same back, nothing cached. Ours unpacks the layers, ready to start; skopeo does so, or keeps them as they come.",
        Unit::Seconds,
    );
    contest.add("abx template pull", || {
        let ours = lab.ours().with_home(fresh(&place.join("abx"))?);
        Ok(timed(&mut ours.command(&["--quiet", "template", "pull", &image]))?.seconds)
    });
    match Skopeo::new() {
        Ok(skopeo) => {
            contest.add("skopeo copy, unpacked", {
                let (skopeo, image, place) = (skopeo.clone(), image.clone(), place.join("unpacked"));
                move || {
                    let folder = fresh(&place)?;
                    let ran = timed(&mut skopeo.copy(&image, &Skopeo::stored(&folder)));
                    Skopeo::release(&folder);
                    Ok(ran?.seconds)
                }
            });
            contest.add("skopeo copy, compressed", {
                let (image, place) = (image.clone(), place.join("compressed"));
                move || {
                    let target = format!("dir:{}", fresh(&place)?.display());
                    Ok(timed(&mut skopeo.copy(&image, &target))?.seconds)
                }
            });
        }
        Err(reason) => contest.skip("skopeo copy", reason),
    }
    Ok(contest.run(lab.few_rounds(ROUNDS)))
}

/// An empty registry.
fn started(place: &Path) -> Result<Registry, Failure> {
    let folder = fresh(place)?;
    Registry::start(&folder).map_err(|reason| Failure::unexpected("docker-registry", reason))
}

/// The image as skopeo has it: compressed layers in a folder.
fn layout(lab: &Lab, skopeo: &Skopeo) -> Result<String, Failure> {
    let folder = lab.folder("layout")?;
    let archive = folder.join("image.tar");
    quiet(lab.ours().command(&["template", "export", TEMPLATE, "-o"]).arg(&archive))?;
    let layout = format!("oci:{}:image", folder.join("oci").display());
    quiet(&mut skopeo.copy(&format!("oci-archive:{}", archive.display()), &layout))?;
    Ok(layout)
}
