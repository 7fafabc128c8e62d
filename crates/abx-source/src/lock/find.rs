//! The lock that holds for a reference.
//!
//! That of a directory lies in it. That of anything else is the `template.lock` of the working directory, if it is of
//! the very reference that is asked for; else the one that a fetched package has beside its `template.yaml`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use abx_core::Progress;
use abx_reference::Reference;

use super::{FILE, HERE, Lock, LockError};
use crate::{GithubSettings, Package, PackageRoot, SourceContext, SourceError, fetch_leaf, leaf};

/// A list of packages has some thousand lines.
const BYTES: u64 = 4 << 20;

/// A lock, and where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLock {
    pub lock: Lock,
    /// As the user knows it.
    pub file: String,
    /// Whether it is one of the working directory that belongs to a reference elsewhere.
    pub is_apart: bool,
    /// Whether names mean what they mean without it: the release one was locked to is not to be had.
    pub frees_names: bool,
}

impl FoundLock {
    /// A lock that holds for everything in it.
    pub fn new(lock: Lock, file: String, is_apart: bool) -> Self {
        Self { lock, file, is_apart, frees_names: false }
    }
}

/// Where the lock of a reference is to be, and of which top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockPlace {
    pub path: PathBuf,
    /// As the user knows it.
    pub display: String,
    /// How the template itself is called in it.
    pub top: String,
}

/// Where to look, with the lock that holds for a reference. Of a repository or an archive with a lock of its own, that
/// takes having it.
///
/// # Errors
/// The lock that is there cannot be used; what the reference names is not to be had.
pub async fn hold(
    reference: &Reference,
    context: &SourceContext,
    settings: &GithubSettings,
    progress: &dyn Progress,
) -> Result<SourceContext, SourceError> {
    let lock = of_reference(reference, context)?;
    if lock.is_some() {
        return Ok(SourceContext { lock, ..context.clone() });
    }
    let mut context = fetch_leaf(reference, context, settings, progress).await?;
    // Resolving tells what is wrong with the package.
    if let Ok(Some(package)) = leaf(reference, &context) {
        context.lock = of_package(&package)?;
    }
    Ok(context)
}

/// The lock of the working directory for a reference that is no directory.
///
/// # Errors
/// What is there is no lock this program reads.
pub fn of_reference(reference: &Reference, context: &SourceContext) -> Result<Option<FoundLock>, LockError> {
    if matches!(reference, Reference::Local(_)) {
        return Ok(None);
    }
    let place = LockPlace::of_reference(reference, context);
    let found = read(&place.path, &place.display)?.filter(|lock| is_of(lock, reference));
    Ok(found.map(|lock| FoundLock::new(lock, place.display, true)))
}

/// The lock that lies beside a package's file.
///
/// # Errors
/// What is there is no lock this program reads.
pub fn of_package(package: &Package) -> Result<Option<FoundLock>, LockError> {
    let Some(place) = LockPlace::of_package(package) else { return Ok(None) };
    let found = read(&place.path, &place.display)?.filter(|lock| lock.top() == HERE);
    Ok(found.map(|lock| FoundLock::new(lock, place.display, false)))
}

/// Whether a lock is that of a reference, however it is spelled.
pub fn is_of(lock: &Lock, reference: &Reference) -> bool {
    Reference::parse(lock.top()).is_ok_and(|top| top == *reference)
}

impl LockPlace {
    /// Of what is no directory.
    pub fn of_reference(reference: &Reference, context: &SourceContext) -> Self {
        Self { path: context.cwd.join(FILE), display: FILE.to_owned(), top: reference.to_string() }
    }

    /// Beside a package's file; `None` where its files are in no directory.
    pub fn of_package(package: &Package) -> Option<Self> {
        let PackageRoot::Dir(root) = &package.root else { return None };
        let display = format!("{}/{FILE}", package.display.trim_end_matches('/'));
        Some(Self { path: root.join(FILE), display, top: HERE.to_owned() })
    }
}

/// Reads a lock file; `None` where there is none.
///
/// # Errors
/// It cannot be read, or is no lock.
pub fn read(path: &Path, display: &str) -> Result<Option<Lock>, LockError> {
    // Opening anything but a file might wait for ever.
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(LockError::io("read", path)(error));
        }
        _ => return Ok(None),
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES + 1).read_to_end(&mut bytes));
    read.map_err(LockError::io("read", path))?;
    let text = if bytes.len() as u64 > BYTES { None } else { String::from_utf8(bytes).ok() };
    match text {
        Some(text) => Lock::parse(&text, display).map(Some),
        None => Err(LockError::io("read", path)(io::Error::new(
            io::ErrorKind::InvalidData,
            "it is no text, or longer than any lock",
        ))),
    }
}
