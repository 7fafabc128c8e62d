//! What mounts leave in a layer: the empty files and directories they were laid over.

use std::io;
use std::path::{Path, PathBuf};

use abx_isolate::Launch;

use crate::canvas::attributes;
use crate::view::View;

/// Where every root has something mounted.
const ALWAYS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Places that a launch mounts at and that are not in the image.
pub(super) struct Stubs {
    /// Each with the parts that lead to it from the first that is missing on, deepest first; below the root.
    places: Vec<Vec<PathBuf>>,
    /// The directories that hold them, and may have been copied up for that alone.
    holders: Vec<PathBuf>,
}

impl Stubs {
    pub(super) fn of(launch: &Launch, view: &View) -> io::Result<Self> {
        let mut stubs = Self { places: Vec::new(), holders: Vec::new() };
        let always = ALWAYS.iter().map(PathBuf::from).chain(launch.extras.fleeting.clone());
        let targets = always
            .chain(launch.binds.iter().map(|bind| bind.target.clone()))
            .chain(launch.files.iter().map(|file| file.path.clone()))
            .chain(launch.extras.memory.iter().map(|memory| memory.target.clone()))
            .chain(launch.extras.secrets.iter().map(|secret| secret.path.clone()));
        for target in targets {
            stubs.add(view, &target)?;
        }
        // Deeper ones first: what they leave may be all that holds another.
        stubs.places.sort_by_key(|parts| std::cmp::Reverse(parts[0].components().count()));
        Ok(stubs)
    }

    fn add(&mut self, view: &View, target: &Path) -> io::Result<()> {
        let real = view.real(target)?;
        let mut parts = Vec::new();
        for part in real.ancestors() {
            if part == Path::new("/") || view.exists(part)? {
                self.holders.extend(part.strip_prefix("/").map(Path::to_owned));
                break;
            }
            parts.extend(part.strip_prefix("/").map(Path::to_owned));
        }
        if !parts.is_empty() {
            self.places.push(parts);
        }
        Ok(())
    }

    /// Removes what is left of them at `upper`; what has got a content meanwhile stays.
    pub(super) fn remove(&self, upper: &Path, lower: &View) -> io::Result<()> {
        for path in self.places.iter().flatten() {
            let host = upper.join(path);
            match std::fs::symlink_metadata(&host) {
                Ok(found) if found.is_dir() => drop(std::fs::remove_dir(&host)),
                Ok(found) if found.is_file() && found.len() == 0 => std::fs::remove_file(&host)?,
                _ => {}
            }
        }
        for holder in self.holders.iter().filter(|holder| !holder.as_os_str().is_empty()) {
            for path in holder.ancestors().filter(|path| !path.as_os_str().is_empty()) {
                if !is_idle(&upper.join(path), &Path::new("/").join(path), lower)? {
                    break;
                }
                std::fs::remove_dir(upper.join(path))?;
            }
        }
        Ok(())
    }
}

/// Whether a directory of the layer says nothing that the layers below do not say.
fn is_idle(host: &Path, path: &Path, lower: &View) -> io::Result<bool> {
    let Ok(here) = std::fs::symlink_metadata(host) else { return Ok(false) };
    let Some(below) = lower.find(path)? else { return Ok(false) };
    let mut value = [0_u8; 1];
    let is_opaque = rustix::fs::lgetxattr(host, "trusted.overlay.opaque", &mut value).is_ok();
    Ok(here.is_dir()
        && !is_opaque
        && attributes(&here) == attributes(&below.metadata)
        && std::fs::read_dir(host)?.next().is_none())
}
