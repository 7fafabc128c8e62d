//! Removing from a layer what a step leaves behind without meaning it: caches, lists, logs, backups.

use std::io;
use std::path::Path;

use crate::view::{View, is_whiteout};

/// Directories whose content never belongs into an image.
const EMPTIED: [&str; 10] = [
    "run",
    "var/cache/apt",
    "var/cache/ldconfig",
    "var/lib/apt/lists",
    "var/lib/apt/mirrors",
    "var/log/apt",
    "root/.cache/pip",
    "root/.cache/uv",
    "root/.npm/_cacache",
    "root/.npm/_logs",
];
/// Emptied after package steps. A `run` step may mean what it leaves there: the next one can use it.
const TEMPORARY: [&str; 2] = ["tmp", "var/tmp"];

/// Single files of the same sort.
const REMOVED: [&str; 8] = [
    "var/log/dpkg.log",
    "var/log/alternatives.log",
    "var/log/bootstrap.log",
    "var/cache/debconf/config.dat-old",
    "var/cache/debconf/templates.dat-old",
    "root/.wget-hsts",
    "root/.bash_history",
    "root/.python_history",
];

/// Directories in which `<file>-` and `<file>-old` are backups of `<file>`.
const BACKED_UP: [&str; 2] = ["etc", "var/lib/dpkg"];
const BACKUPS: [&str; 9] = [
    "passwd-",
    "group-",
    "shadow-",
    "gshadow-",
    "subuid-",
    "subgid-",
    "status-old",
    "diversions-old",
    "statoverride-old",
];

/// Directories that go with their last file.
const DROPPED: [&str; 7] = [
    "root/.cache/pip",
    "root/.cache/uv",
    "root/.cache",
    "root/.npm/_cacache",
    "root/.npm/_logs",
    "root/.npm",
    "var/log/apt",
];

/// Cleans the layer at `upper`; with `temporary` the directories for temporary files as well. What hides
/// files of lower layers stays. Directories that come out empty and are in `lower` anyway go too.
pub(crate) fn tidy(lower: &View, upper: &Path, temporary: bool) -> io::Result<()> {
    let temporary = TEMPORARY.iter().filter(|_| temporary);
    for path in EMPTIED.iter().chain(temporary) {
        if is_real_directory(upper, Path::new(path)) {
            empty(&upper.join(path))?;
            if lower.exists(Path::new("/").join(path))? {
                // Fails where something is left that hides a file below, and shall.
                let _ = std::fs::remove_dir(upper.join(path));
            }
        }
    }
    for path in REMOVED {
        remove(upper, Path::new(path))?;
    }
    for directory in BACKED_UP {
        for name in BACKUPS {
            remove(upper, &Path::new(directory).join(name))?;
        }
    }
    for path in DROPPED {
        if is_real_directory(upper, Path::new(path)) {
            let _ = std::fs::remove_dir(upper.join(path));
        }
    }
    Ok(())
}

fn empty(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let path = entry.path();
        if metadata.is_dir() {
            std::fs::remove_dir_all(path)?;
        } else if !is_whiteout(&metadata) {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn remove(upper: &Path, path: &Path) -> io::Result<()> {
    if path.parent().is_some_and(|parent| !is_real_directory(upper, parent)) {
        return Ok(());
    }
    let host = upper.join(path);
    match std::fs::symlink_metadata(&host) {
        Ok(metadata) if metadata.is_file() => std::fs::remove_file(host),
        _ => Ok(()),
    }
}

/// Whether every part of `path` is a directory of this layer: a link must not lead the cleaning elsewhere.
fn is_real_directory(upper: &Path, path: &Path) -> bool {
    let mut host = upper.to_owned();
    path.components().all(|part| {
        host.push(part);
        std::fs::symlink_metadata(&host).is_ok_and(|metadata| metadata.is_dir())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_go_and_the_rest_stays() {
        let dir = tempfile::tempdir().expect("tempdir");
        let upper = dir.path().join("upper");
        let gone =
            ["var/cache/apt/pkgcache.bin", "var/lib/apt/lists/x", "root/.cache/pip/http/a", "etc/passwd-"];
        let kept = ["etc/passwd", "var/lib/dpkg/status", "usr/bin/tool", "root/.cache/models/a"];
        for path in gone.iter().chain(&kept).chain(&["tmp/work", "outside/x"]) {
            let path = upper.join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("mkdir");
            std::fs::write(path, "x").expect("write");
        }
        std::os::unix::fs::symlink("../outside", upper.join("run")).expect("link");
        let lower = View::new(vec![dir.path().join("lower")]);
        tidy(&lower, &upper, false).expect("tidy");
        assert!(gone.iter().all(|path| !upper.join(path).exists()));
        assert!(kept.iter().chain(&["tmp/work", "outside/x"]).all(|path| upper.join(path).exists()));
        tidy(&lower, &upper, true).expect("tidy");
        assert!(upper.join("tmp").exists() && !upper.join("tmp/work").exists());
        std::fs::create_dir_all(dir.path().join("lower/tmp")).expect("mkdir");
        tidy(&lower, &upper, true).expect("tidy");
        assert!(!upper.join("tmp").exists());
    }
}
