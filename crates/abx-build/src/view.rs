//! What a stack of layers shows at a path, read without mounting it.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// Links followed for one path before it counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;

/// Directories of layers, bottom first, seen as overlayfs would show them.
#[derive(Clone, Debug)]
pub(crate) struct View {
    layers: Vec<PathBuf>,
}

/// What a path leads to.
#[derive(Debug)]
pub(crate) struct Found {
    /// The path inside the root that is no link any more.
    pub(crate) inside: PathBuf,
    /// The file of the topmost layer that has it.
    pub(crate) host: PathBuf,
    pub(crate) metadata: Metadata,
}

/// One path with its links followed.
enum Resolved {
    Found(Box<Found>, Vec<PathBuf>),
    /// Nothing there; this is where it would be made, where its parent exists.
    Missing(PathBuf),
}

impl View {
    /// A view of `layers`, bottom first.
    pub(crate) fn new(layers: Vec<PathBuf>) -> Self {
        Self { layers }
    }

    /// The directories it is made of, bottom first.
    pub(crate) fn layers(&self) -> &[PathBuf] {
        &self.layers
    }

    /// The same with one more layer on top.
    pub(crate) fn with(&self, top: &Path) -> Self {
        let mut layers = self.layers.clone();
        layers.push(top.to_owned());
        Self { layers }
    }

    /// What `path` leads to, links followed; never outside the root.
    pub(crate) fn find(&self, path: impl AsRef<Path>) -> io::Result<Option<Found>> {
        Ok(match self.resolve(path.as_ref())? {
            Resolved::Found(found, _) => Some(*found),
            Resolved::Missing(_) => None,
        })
    }

    /// Whether `path` leads to something.
    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> io::Result<bool> {
        Ok(self.find(path)?.is_some())
    }

    /// The path inside the root that `path` leads to, links followed, whether anything is there or not.
    pub(crate) fn real(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        Ok(match self.resolve(path.as_ref())? {
            Resolved::Found(found, _) => found.inside,
            Resolved::Missing(inside) => inside,
        })
    }

    /// The text of a file; `None` where there is none.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> io::Result<Option<String>> {
        match self.find(path)? {
            Some(found) if found.metadata.is_file() => {
                Ok(Some(String::from_utf8_lossy(&std::fs::read(found.host)?).into_owned()))
            }
            _ => Ok(None),
        }
    }

    /// The names in a directory, in order; empty where there is none.
    pub(crate) fn list(&self, path: impl AsRef<Path>) -> io::Result<Vec<String>> {
        let Resolved::Found(_, directories) = self.resolve(path.as_ref())? else { return Ok(Vec::new()) };
        Ok(names(&directories)?.iter().map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// What `path` leads to, links followed, and for a directory all it merges, topmost first.
    pub(crate) fn open(&self, path: impl AsRef<Path>) -> io::Result<Option<(Found, Vec<PathBuf>)>> {
        Ok(match self.resolve(path.as_ref())? {
            Resolved::Found(found, directories) => Some((*found, directories)),
            Resolved::Missing(_) => None,
        })
    }

    fn resolve(&self, path: &Path) -> io::Result<Resolved> {
        let mut links = 0;
        let mut pending = parts(path);
        pending.reverse();
        let mut inside: Vec<(PathBuf, Vec<PathBuf>)> = Vec::new();
        let top: Vec<PathBuf> = self.layers.iter().rev().cloned().collect();
        while let Some(part) = pending.pop() {
            if part == Path::new("..") {
                inside.pop();
                continue;
            }
            let (base, directories) = match inside.last() {
                Some((base, directories)) => (base.clone(), directories),
                None => (PathBuf::from("/"), &top),
            };
            let here = base.join(&part);
            let Some((host, metadata, merged)) = step_into(directories, &part)? else {
                return Ok(Resolved::Missing(append(here, pending)));
            };
            if metadata.is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::from(rustix::io::Errno::LOOP));
                }
                let target = std::fs::read_link(&host)?;
                if target.is_absolute() {
                    inside.clear();
                }
                pending.extend(parts(&target).into_iter().rev());
                continue;
            }
            if pending.is_empty() {
                return Ok(Resolved::Found(Box::new(Found { inside: here, host, metadata }), merged));
            }
            if !metadata.is_dir() {
                return Ok(Resolved::Missing(append(here, pending)));
            }
            inside.push((here, merged));
        }
        let (inside, directories) = inside.pop().unwrap_or_else(|| (PathBuf::from("/"), top));
        // Without any layer there is not even a root.
        let Some(host) = directories.first().cloned() else { return Ok(Resolved::Missing(inside)) };
        let metadata = std::fs::symlink_metadata(&host)?;
        Ok(Resolved::Found(Box::new(Found { inside, host, metadata }), directories))
    }
}

/// The names in a merged directory, in order. `directories` are topmost first.
pub(crate) fn names(directories: &[PathBuf]) -> io::Result<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    let mut hidden = HashSet::new();
    for directory in directories {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            // Only a device can be a whiteout, and most entries need no look at more than their type.
            if entry.file_type()?.is_char_device() && is_whiteout(&entry.metadata()?) {
                hidden.insert(entry.file_name());
            } else if !hidden.contains(&entry.file_name()) {
                names.insert(entry.file_name());
            }
        }
    }
    Ok(names)
}

/// The entry `part` of a merged directory: the topmost layer's, and for a directory all it merges.
pub(crate) fn step_into<'d>(
    directories: impl IntoIterator<Item = &'d PathBuf>,
    part: &Path,
) -> io::Result<Option<(PathBuf, Metadata, Vec<PathBuf>)>> {
    let mut first: Option<(PathBuf, Metadata)> = None;
    let mut merged = Vec::new();
    for directory in directories {
        let host = directory.join(part);
        let metadata = match std::fs::symlink_metadata(&host) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if is_whiteout(&metadata) {
            break;
        }
        if !metadata.is_dir() {
            if first.is_none() {
                first = Some((host, metadata));
            }
            break;
        }
        let opaque = is_opaque(&host);
        merged.push(host.clone());
        first.get_or_insert((host, metadata));
        if opaque {
            break;
        }
    }
    Ok(first.map(|(host, metadata)| (host, metadata, merged)))
}

/// A file that overlayfs takes as "deleted here": a character device 0:0.
pub(crate) fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

/// A directory that hides what lower layers have in it.
fn is_opaque(directory: &Path) -> bool {
    let mut value = [0_u8; 1];
    matches!(rustix::fs::lgetxattr(directory, "trusted.overlay.opaque", &mut value), Ok(1)) && value == *b"y"
}

fn parts(path: &Path) -> Vec<PathBuf> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(PathBuf::from(part)),
            Component::ParentDir => Some(PathBuf::from("..")),
            _ => None,
        })
        .collect()
}

/// `base` with the parts not yet walked, which exist in no layer.
fn append(base: PathBuf, pending: Vec<PathBuf>) -> PathBuf {
    pending.into_iter().rev().fold(base, |mut path, part| {
        match part == Path::new("..") {
            true => drop(path.pop()),
            false => path.push(part),
        }
        path
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn layers() -> (tempfile::TempDir, View) {
        let dir = tempfile::tempdir().expect("tempdir");
        let (low, high) = (dir.path().join("low"), dir.path().join("high"));
        for path in ["low/usr/bin", "low/etc/sub", "high/etc", "high/run"] {
            std::fs::create_dir_all(dir.path().join(path)).expect("mkdir");
        }
        std::fs::write(low.join("usr/bin/sh"), "sh").expect("write");
        std::fs::write(low.join("etc/a"), "low").expect("write");
        std::fs::write(low.join("etc/b"), "low").expect("write");
        std::fs::write(high.join("etc/a"), "high").expect("write");
        symlink("usr/bin", low.join("bin")).expect("link");
        symlink("/etc/../../etc/a", low.join("usr/up")).expect("link");
        symlink("loop", low.join("loop")).expect("link");
        symlink("/nowhere/x", low.join("dangling")).expect("link");
        (dir, View::new(vec![low, high]))
    }

    #[test]
    fn upper_wins_links_stay_inside_and_directories_merge() {
        let (_dir, view) = layers();
        let read = |path: &str| view.read(path).expect("read");
        assert_eq!(read("/etc/a").as_deref(), Some("high"));
        assert_eq!(read("/etc/b").as_deref(), Some("low"));
        assert_eq!(read("/bin/sh").as_deref(), Some("sh"));
        assert_eq!(read("/usr/up").as_deref(), Some("high"));
        assert_eq!(read("/etc/a/below"), None);
        assert_eq!(view.real("/bin/new/x").expect("real"), Path::new("/usr/bin/new/x"));
        assert_eq!(view.real("/dangling").expect("real"), Path::new("/nowhere/x"));
        assert_eq!(view.real("/").expect("real"), Path::new("/"));
        assert_eq!(view.list("/etc").expect("list"), ["a", "b", "sub"]);
        assert!(view.find("/loop").is_err());
    }

    #[test]
    fn a_whiteout_hides_what_lies_below() {
        let (dir, view) = layers();
        let path = dir.path().join("high/etc/b");
        if rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::CharacterDevice, 0o0.into(), 0)
            .is_err()
        {
            let _ = writeln!(io::stderr(), "skipped: making a device node needs root");
            return;
        }
        assert!(!view.exists("/etc/b").expect("find"));
        assert_eq!(view.list("/etc").expect("list"), ["a", "sub"]);
    }
}
