//! What configuring leaves behind and an image must not hold: logs, caches, and times of the day it was made.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD};

use crate::error::DebianError;
use crate::rooted::times;

/// Emptied; the directory itself stays.
const EMPTIED: &[&str] = &["tmp", "var/tmp"];

/// Cleared of files; directories that packages made stay.
const CLEARED: &[&str] = &["run", "var/lib/apt/lists", "var/cache/apt", "var/cache/ldconfig", "var/log"];

/// Removed where they are: copies of their predecessors, and a log of every package's details.
const REMOVED: &[&str] = &[
    "var/lib/dpkg/status-old",
    "var/lib/dpkg/diversions-old",
    "var/lib/dpkg/statoverride-old",
    "var/lib/dpkg/lock",
    "var/lib/dpkg/lock-frontend",
    "var/lib/dpkg/triggers/Lock",
    "var/cache/debconf/config.dat-old",
    "var/cache/debconf/templates.dat-old",
    "etc/.pwd.lock",
];

/// Binary logs that programs expect to be there: these are truncated.
const KEPT_LOGS: &[&[u8]] = &[b"btmp", b"wtmp", b"lastlog", b"faillog"];

/// Removes what must not stay in `root`.
pub(crate) fn tidy(root: &Path) -> Result<(), DebianError> {
    for name in EMPTIED {
        let path = root.join(name);
        empty(&path).map_err(DebianError::file("empty", &path))?;
    }
    for name in REMOVED {
        let path = root.join(name);
        absent_is_fine(std::fs::remove_file(&path)).map_err(DebianError::file("remove", &path))?;
    }
    for name in CLEARED {
        let path = root.join(name);
        clear(&path).map_err(DebianError::file("clear", &path))?;
    }
    Ok(())
}

/// Sets every time at or after `since` to `date`: what was made just now looks as old as the release, so
/// that the same packages give the same root. The overlay's own marks, which mean nothing in the lowest
/// layer, are taken off directories.
pub(crate) fn settle(root: &Path, since: u64, date: u64) -> Result<(), DebianError> {
    settle_tree(root, since, date).map_err(DebianError::file("set the times below", root))
}

fn settle_tree(path: &Path, since: u64, date: u64) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(path)?;
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path)? {
            settle_tree(&entry?.path(), since, date)?;
        }
        remove_marks(path)?;
    }
    if metadata.mtime() >= i64::try_from(since).unwrap_or(i64::MAX) {
        rustix::fs::utimensat(CWD, path, &times(date), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(())
}

/// Removes the extended attributes an overlay leaves on its upper directories.
fn remove_marks(path: &Path) -> io::Result<()> {
    let mut names = [0; 1024];
    let length = match rustix::fs::llistxattr(path, &mut names) {
        Ok(length) => length,
        // No such attributes on this file system, or more of them than an overlay makes.
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::RANGE) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names[..length].split(|byte| *byte == 0) {
        if name.starts_with(b"trusted.overlay.") || name.starts_with(b"user.overlay.") {
            rustix::fs::lremovexattr(path, OsStr::from_bytes(name))?;
        }
    }
    Ok(())
}

fn empty(path: &Path) -> io::Result<()> {
    let Some(entries) = absent(std::fs::read_dir(path))? else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

fn clear(path: &Path) -> io::Result<()> {
    let Some(entries) = absent(std::fs::read_dir(path))? else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            clear(&entry.path())?;
        } else if kind.is_file() && KEPT_LOGS.contains(&entry.file_name().as_bytes()) {
            std::fs::OpenOptions::new().write(true).truncate(true).open(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    absent(result).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_caches_go_and_times_are_clamped() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = dir.path();
        for path in
            ["var/log/apt/term.log", "var/log/wtmp", "var/cache/apt/pkgcache.bin", "run/lock/x", "etc/a"]
        {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, "x").expect("write");
        }
        std::os::unix::fs::symlink("nowhere", root.join("etc/link")).expect("symlink");
        tidy(root).expect("tidy");
        settle(root, 1_000_000, 500).expect("settle");
        assert!(root.join("run/lock").exists() && !root.join("run/lock/x").exists());
        assert_eq!(std::fs::read_dir(root.join("var/cache/apt")).expect("list").count(), 0);
        assert!(!root.join("var/log/apt/term.log").exists() && root.join("var/log/apt").exists());
        assert_eq!(std::fs::read(root.join("var/log/wtmp")).expect("read"), b"");
        for path in ["etc/a", "etc/link", "etc", ""] {
            let metadata = std::fs::symlink_metadata(root.join(path)).expect("stat");
            assert_eq!(metadata.mtime(), 500, "{path}");
        }
    }
}
