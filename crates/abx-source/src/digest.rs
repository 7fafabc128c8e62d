//! What identifies a package: a hash over the files that have a say in its image or its sandbox.
//!
//! Of a directory these are `template.yaml` (or `sandbox.yaml`), `files/`, `scripts/`, `commands.py`,
//! `commands/` and the sources of `build.copy`, and with a Dockerfile that and all it can copy; a README, tests or a
//! `target/` folder beside them change nothing. Of each entry the path, the kind, the executable bit and the content (of a link, its target)
//! count; `.git` never does. Of a built-in the same files count; of a package whose image is stored here, its
//! `template.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};
use walkdir::WalkDir;

use crate::builtin::{Builtin, EmbeddedFile};

/// Always part of a package where they exist.
const PARTS: &[&str] = &["template.yaml", "sandbox.yaml", "files", "scripts", "commands.py", "commands"];

/// The digest of a built-in package, that of a directory with the same files: `sha256:` and 64 digits. `copies` are the
/// sources of its `build.copy`.
pub(crate) fn of_builtin<'p>(builtin: &Builtin, copies: impl Iterator<Item = &'p Path>) -> String {
    let plain =
        |part: &Path| part.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
    let parts: Vec<PathBuf> = PARTS.iter().map(Path::new).chain(copies).map(plain).collect();
    let mut entries: BTreeMap<&Path, Option<&EmbeddedFile>> = BTreeMap::new();
    for file in builtin.files {
        let path = Path::new(file.path);
        for part in parts.iter().filter(|part| path.starts_with(part)) {
            entries.insert(path, Some(file));
            let above = path.ancestors().skip(1).filter(|above| above.starts_with(part));
            entries.extend(above.map(|above| (above, None)));
        }
    }
    let mut hasher = Sha256::new();
    for (path, file) in entries {
        field(&mut hasher, path.as_os_str().as_bytes());
        match file {
            None => hasher.update(b"d"),
            Some(file) => {
                kind(&mut hasher, file.executable);
                field(&mut hasher, file.content);
            }
        }
    }
    printed(hasher)
}

/// The digest of a package that is part of an image.
pub(crate) fn of_text(text: &str) -> String {
    printed(Sha256::new().chain_update(text))
}

/// The digest of a package's directory; `copies` are the sources of its `build.copy`, relative to it.
/// What its Dockerfile can `reach` counts as well.
pub(crate) fn of_directory<'p>(
    root: &Path,
    copies: impl Iterator<Item = &'p Path>,
    mut reach: BTreeSet<PathBuf>,
) -> io::Result<String> {
    let mut hasher = Sha256::new();
    reach.append(&mut files(root, copies)?);
    for path in reach {
        entry(&mut hasher, root, &path)?;
    }
    Ok(printed(hasher))
}

/// What is in a package's directory, in order, as paths relative to it; `copies` as in [`of_directory`].
pub(crate) fn files<'p>(
    root: &Path,
    copies: impl Iterator<Item = &'p Path>,
) -> io::Result<BTreeSet<PathBuf>> {
    let mut paths = BTreeSet::new();
    for part in PARTS.iter().map(Path::new).chain(copies) {
        collect(root, part, &mut paths)?;
    }
    Ok(paths)
}

/// The digest of everything below `root`: unlike that of a package, nothing is without a say.
pub(crate) fn of_tree(root: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    for found in WalkDir::new(root).min_depth(1).sort_by_file_name() {
        let found = found?;
        entry(&mut hasher, root, found.path().strip_prefix(root).unwrap_or(found.path()))?;
    }
    Ok(printed(hasher))
}

/// The digest of what is left to read of a file.
pub(crate) fn of_file(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut io::BufReader::with_capacity(1 << 18, file), &mut hasher)?;
    Ok(printed(hasher))
}

/// Adds what lies at and below `part`, as paths relative to `root`.
fn collect(root: &Path, part: &Path, paths: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let start = root.join(part);
    if start.symlink_metadata().is_err() {
        return Ok(());
    }
    let walk = WalkDir::new(&start).follow_root_links(false);
    for entry in walk.into_iter().filter_entry(|entry| entry.file_name() != ".git") {
        let entry = entry?;
        paths.insert(entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned());
    }
    Ok(())
}

fn entry(hasher: &mut Sha256, root: &Path, path: &Path) -> io::Result<()> {
    let full = root.join(path);
    let metadata = full.symlink_metadata()?;
    if metadata.is_file() {
        field(hasher, path.as_os_str().as_bytes());
        kind(hasher, is_executable(&metadata));
        content(hasher, &full, metadata.len())?;
    } else if metadata.is_symlink() {
        field(hasher, path.as_os_str().as_bytes());
        hasher.update(b"l");
        field(hasher, std::fs::read_link(&full)?.as_os_str().as_bytes());
    } else if metadata.is_dir() {
        field(hasher, path.as_os_str().as_bytes());
        hasher.update(b"d");
    }
    Ok(())
}

/// What a file is that has no content to copy; `None` for files, links and folders.
pub fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("a device")
    } else {
        None
    }
}

/// Whether anybody may execute it.
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o111 != 0
}

fn content(hasher: &mut Sha256, path: &Path, length: u64) -> io::Result<()> {
    hasher.update(length.to_le_bytes());
    io::copy(&mut File::open(path)?, hasher).map(drop)
}

/// Length first, so that no two lists of fields run together.
fn field(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn kind(hasher: &mut Sha256, executable: bool) {
    hasher.update(if executable { b"x" } else { b"f" });
}

fn printed(hasher: Sha256) -> String {
    format!("sha256:{:x}", hasher.finalize())
}
