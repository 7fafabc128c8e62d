//! What is kept of repositories and archives: to be listed, checked and cleaned.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use abx_core::Home;
use serde::Deserialize;
use walkdir::WalkDir;

use crate::{digest, github, local_archive};

/// What an entry came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CachedOrigin {
    /// A repository at one commit.
    Repository {
        host: String,
        /// `owner/repo`, as it was asked for.
        repository: String,
        commit: String,
        /// Branches and tags that stood for the commit when they were asked for last.
        refs: Vec<String>,
    },
    /// An archive of this machine.
    Archive {
        /// As it was named when it was unpacked.
        file: String,
        /// `sha256` of the file, in hex.
        sha256: String,
    },
}

/// An entry that is whole, or one that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cached {
    pub origin: CachedOrigin,
    /// The whole entry.
    pub path: PathBuf,
    /// Seconds since 1970; `None` for one that is not whole.
    pub made: Option<u64>,
    pub used: Option<SystemTime>,
    /// Of the tree; `None` for one that is not whole, and for what an older version fetched.
    digest: Option<String>,
    tree: PathBuf,
}

/// As far as a mark of either kind matters here.
#[derive(Deserialize)]
struct Mark {
    #[serde(default)]
    repository: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    digest: String,
    #[serde(alias = "fetched", alias = "unpacked")]
    made: u64,
}

/// Every entry, in the order of its path.
pub fn cached(home: &Home) -> io::Result<Vec<Cached>> {
    let mut found = Vec::new();
    let packages = home.store("packages");
    for path in directories(&packages, 4)? {
        let below = path.strip_prefix(&packages).unwrap_or(&path);
        let parts: Vec<String> =
            below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let [host, owner, repository, commit] = parts.as_slice() else { continue };
        let (mark, used) = mark(&path.join("package.json"));
        let known = mark.as_ref().map(|mark| mark.repository.clone()).filter(|name| !name.is_empty());
        let origin = CachedOrigin::Repository {
            host: unescape(host),
            repository: known.unwrap_or_else(|| format!("{owner}/{repository}")),
            commit: commit.clone(),
            refs: refs(&home.store("pins").join(host).join(owner).join(repository), commit),
        };
        found.push(entry(origin, path, mark, used));
    }
    for path in directories(&home.store("archives"), 1)? {
        let (mark, used) = mark(&path.join(local_archive::MARK));
        let sha256 = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = mark.as_ref().map(|mark| mark.file.clone()).unwrap_or_default();
        found.push(entry(CachedOrigin::Archive { file, sha256 }, path, mark, used));
    }
    Ok(found)
}

impl Cached {
    /// Reads every file, and says what is wrong with the entry.
    pub fn fault(&self) -> Option<String> {
        let Some(_) = self.made else { return Some("it is not whole".to_owned()) };
        match (digest::of_tree(&self.tree), &self.digest) {
            (Err(error), _) => Some(format!("it cannot be read: {error}")),
            (Ok(found), Some(expected)) if found != *expected => {
                Some("its files are not what they were when it was made".to_owned())
            }
            _ => None,
        }
    }

    /// Whether [`Cached::fault`] has something to compare with.
    pub fn is_measured(&self) -> bool {
        self.digest.is_some()
    }
}

/// Removes what leads to entries that are gone: pins, and the links that people see. Nobody may be fetching.
pub fn forget_absent(home: &Home) -> io::Result<()> {
    let packages = home.store("packages");
    for link in WalkDir::new(home.templates()).min_depth(3).max_depth(3).into_iter().flatten() {
        if link.path_is_symlink() && !link.path().exists() {
            std::fs::remove_file(link.path())?;
        }
    }
    let pins = home.store("pins");
    for pin in WalkDir::new(&pins).min_depth(4).max_depth(4).into_iter().flatten() {
        let below = pin.path().strip_prefix(&pins).unwrap_or(pin.path());
        let repository = packages.join(below.parent().unwrap_or(below));
        let commit =
            std::fs::read(pin.path()).ok().and_then(|bytes| serde_json::from_slice::<Pin>(&bytes).ok());
        let leads_to = match pin.file_name() == github::TAGS {
            // The list of tags is of use while any commit of the repository is here.
            true => has_directory(&repository),
            false => commit.is_some_and(|pin| repository.join(pin.commit).exists()),
        };
        if !leads_to && pin.file_type().is_file() {
            std::fs::remove_file(pin.path())?;
        }
    }
    for (root, depth) in [(home.templates(), 2), (pins, 3), (packages, 3)] {
        for directory in
            WalkDir::new(root).min_depth(1).max_depth(depth).contents_first(true).into_iter().flatten()
        {
            // One with something in it stays.
            let _ = std::fs::remove_dir(directory.path());
        }
    }
    Ok(())
}

fn has_directory(path: &Path) -> bool {
    path.read_dir()
        .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| entry.path().is_dir())))
}

/// As far as a pin matters here.
#[derive(Deserialize)]
struct Pin {
    commit: String,
}

fn entry(origin: CachedOrigin, path: PathBuf, mark: Option<Mark>, used: Option<SystemTime>) -> Cached {
    let tree = path.join(local_archive::TREE);
    let mark = mark.filter(|_| tree.is_dir());
    let made = mark.as_ref().map(|mark| mark.made);
    let digest = mark.map(|mark| mark.digest).filter(|digest| !digest.is_empty());
    Cached { origin, path, made, used, digest, tree }
}

fn mark(path: &Path) -> (Option<Mark>, Option<SystemTime>) {
    let mark = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    (mark, path.metadata().and_then(|metadata| metadata.modified()).ok())
}

/// The directories exactly so deep below `root`.
fn directories(root: &Path, depth: usize) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in WalkDir::new(root).min_depth(depth).max_depth(depth).sort_by_file_name() {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => found.push(entry.into_path()),
            Ok(_) => {}
            Err(error) if error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// The names of pins that stand for `commit`.
fn refs(pins: &Path, commit: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(pins) else { return Vec::new() };
    let name = |entry: std::fs::DirEntry| {
        let pin: Pin = serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()?;
        let name = entry.file_name().into_string().ok()?;
        (pin.commit == commit).then(|| unescape(name.strip_suffix(".json").unwrap_or(&name)))
    };
    let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// Undoes `%XX`.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let hex = (*byte == b'%').then(|| after.get(..2)).flatten();
        let byte_of = |hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok();
        match hex.and_then(byte_of) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
