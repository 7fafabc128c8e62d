//! Packages in archives of this machine: a `.tar.gz`, `.zip` or `.tar` wherever a directory will do.
//!
//! ```text
//! store/archives/<sha256 of the file>/tree/         what is in it
//!                                    /archive.json  written last
//! ```
//!
//! What a file is tells its content, not its name. It is unpacked by the rules of [`archive`](crate::archive), once:
//! a file of the same content is found again wherever it lies. The package is at the archive's root where that has a
//! template, else in its one top folder.

mod content;
mod zip;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use abx_core::fs::{Lock, Staging, touch};
use abx_core::progress::{self, Unit};
use abx_core::{Event, Fault, Home, Progress};
use serde::{Deserialize, Serialize};

use crate::archive::{ArchiveFault, Caps, Extracted, Gunzip, Layout, Limited, extract_tar};
use crate::{SourceError, digest};
use content::form;
pub(crate) use content::{Form, form_of};

/// The files.
pub(crate) const TREE: &str = "tree";
/// The mark of an entry that is whole.
pub(crate) const MARK: &str = "archive.json";

/// A file that has been unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalArchive {
    /// As resolving came to it.
    pub file: PathBuf,
    /// What is in it; absolute and without links. Nobody writes there.
    pub tree: PathBuf,
    /// The package in it.
    pub root: PathBuf,
}

/// The mark's content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// How it was named when it was unpacked.
    pub(crate) file: String,
    pub(crate) files: u64,
    /// Of the tree, see [`digest::of_tree`].
    pub(crate) digest: String,
    /// Seconds since 1970.
    pub(crate) unpacked: u64,
}

/// Has the content of an archive at hand. What is left out of it is told when it is unpacked.
pub(crate) async fn open(
    file: PathBuf,
    display: String,
    home: &Home,
    caps: &Caps,
    progress: &dyn Progress,
) -> Result<LocalArchive, SourceError> {
    let task = progress::start(progress, format!("unpacking {display}"), None, Unit::Items);
    let work = {
        let (display, home, caps) = (display.clone(), home.clone(), *caps);
        move || unpack(&file, &display, &home, &caps)
    };
    let unpacked = tokio::task::spawn_blocking(work).await;
    let unpacked = unpacked.unwrap_or_else(|error| Err(fault(&display)(error.into())));
    let (archive, extracted) =
        unpacked.map_err(|fault| SourceError::Archive { display: display.clone(), fault })?;
    task.finish("");
    for warning in crate::github::warnings(&display, &extracted) {
        progress.event(Event::Warning(warning));
    }
    Ok(archive)
}

/// What to do about a file of the user's own: nobody fetches that anew.
pub(crate) fn hints(fault: &ArchiveFault) -> Vec<String> {
    let hint = match fault {
        ArchiveFault::Tar(_) | ArchiveFault::Damaged(_) | ArchiveFault::DamagedMember { .. } => {
            "make or copy the archive again"
        }
        ArchiveFault::Unreadable { .. } => "pack it with `zip -r` or `tar -czf`, without a password",
        ArchiveFault::TwoTops => "the template.yaml is at the archive's root, or in its one top folder",
        ArchiveFault::Cap { .. } => "keep large data out of the archive of a template",
        fault => return fault.hints(),
    };
    vec![hint.to_owned()]
}

/// Has the content of `file` on disk, and says what was left out of it if it was not there before.
fn unpack(
    file: &Path,
    display: &str,
    home: &Home,
    caps: &Caps,
) -> Result<(LocalArchive, Extracted), ArchiveFault> {
    let mut source = File::open(file).map_err(fault(display))?;
    let size = source.metadata().map_err(fault(display))?.len();
    if size > caps.compressed {
        return Err(ArchiveFault::Cap { what: "bytes", cap: caps.compressed });
    }
    let digest = digest::of_file(&mut source).map_err(fault(display))?;
    let hex = digest.trim_start_matches("sha256:");
    let entry = entry(home, hex);
    if let Some(found) = find(file, &entry)? {
        return Ok((found, Extracted::default()));
    }
    let lock = home.store("locks").join(format!("archive-{hex}"));
    let _one = Lock::exclusive(&lock).map_err(fault(&lock.display().to_string()))?;
    if let Some(found) = find(file, &entry)? {
        return Ok((found, Extracted::default()));
    }
    let extracted = publish(&mut source, display, &entry, home, caps)?;
    let found = find(file, &entry)?.ok_or_else(|| ArchiveFault::Io {
        name: entry.display().to_string(),
        source: io::Error::other("it has just vanished"),
    })?;
    Ok((found, extracted))
}

/// Where an archive is kept.
fn entry(home: &Home, hex: &str) -> PathBuf {
    home.store("archives").join(hex)
}

/// The record of an entry that is whole.
pub(crate) fn record(entry: &Path) -> Option<Record> {
    let record = serde_json::from_slice(&std::fs::read(entry.join(MARK)).ok()?).ok()?;
    entry.join(TREE).is_dir().then_some(record)
}

fn find(file: &Path, entry: &Path) -> Result<Option<LocalArchive>, ArchiveFault> {
    if record(entry).is_none() {
        return Ok(None);
    }
    touch(&entry.join(MARK));
    let tree = entry.join(TREE).canonicalize().map_err(fault(&entry.display().to_string()))?;
    let root = package_root(&tree)?;
    Ok(Some(LocalArchive { file: file.to_owned(), tree, root }))
}

/// Extracts beside its place, and puts it there. What an entry that is not whole has left goes.
fn publish(
    source: &mut File,
    display: &str,
    entry: &Path,
    home: &Home,
    caps: &Caps,
) -> Result<Extracted, ArchiveFault> {
    let parent = home.store("staging");
    let staging = Staging::new(&parent).map_err(fault(&parent.display().to_string()))?;
    let prepared = staging.path().join("entry");
    let tree = prepared.join(TREE);
    std::fs::create_dir_all(&tree).map_err(fault(&tree.display().to_string()))?;
    let extracted = extract(source, &tree, caps)?;
    package_root(&tree)?;
    let record = Record {
        file: display.to_owned(),
        files: extracted.files,
        digest: crate::github::write_out(&tree).map_err(fault(&tree.display().to_string()))?,
        unpacked: now(),
    };
    let written = (|| {
        std::fs::write(prepared.join(MARK), serde_json::to_vec(&record)?)?;
        if entry.exists() {
            std::fs::rename(entry, staging.path().join("half"))?;
        }
        staging.publish("entry", entry)
    })();
    written.map_err(fault(&entry.display().to_string()))?;
    Ok(extracted)
}

/// Extracts an archive of any form into a directory that is empty. No part of the interface.
///
/// # Errors
/// As [`archive::extract`](crate::archive::extract()).
#[doc(hidden)]
pub fn extract(source: &mut File, tree: &Path, caps: &Caps) -> Result<Extracted, ArchiveFault> {
    io::Seek::rewind(source)?;
    match form(source)? {
        Some(Form::Zip) => zip::extract(source, tree, caps),
        Some(Form::Gzip) => {
            // What was measured may have grown since.
            let source = Limited::new(source.try_clone()?, caps.compressed, "bytes");
            extract_tar(Gunzip::start(source)?, tree, caps, Layout::Root)
        }
        Some(Form::Tar) => extract_tar(io::BufReader::new(source), tree, caps, Layout::Root),
        Some(Form::Vendored) | None => Err(ArchiveFault::NoArchive),
    }
}

/// What programs for the desktop put beside the one top folder.
const ASIDE: &[&str] = &["__MACOSX", ".DS_Store"];

/// Where in the tree the package is.
fn package_root(tree: &Path) -> Result<PathBuf, ArchiveFault> {
    if crate::local::has_file(tree) {
        return Ok(tree.to_owned());
    }
    let entries = std::fs::read_dir(tree)?.collect::<io::Result<Vec<_>>>()?;
    let is_content = |entry: &&std::fs::DirEntry| !ASIDE.iter().any(|aside| entry.file_name() == *aside);
    let mut content = entries.iter().filter(is_content);
    match (content.next(), content.next()) {
        (Some(one), None) if one.file_type()?.is_dir() => Ok(one.path()),
        (Some(_), Some(_)) if entries.iter().all(|entry| entry.path().is_dir()) => Err(ArchiveFault::TwoTops),
        _ => Ok(tree.to_owned()),
    }
}

fn fault(name: &str) -> impl FnOnce(io::Error) -> ArchiveFault {
    move |source| ArchiveFault::Io { name: name.to_owned(), source }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
