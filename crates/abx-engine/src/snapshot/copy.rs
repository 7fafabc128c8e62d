//! One tree of an overlay's writable layer.

use std::collections::{BTreeSet, HashMap};
use std::fs::{FileType, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType as Kind, Gid, Mode, Timespec, Timestamps, Uid, chownat, mknodat, utimensat,
};

use super::{Copied, attributes};
use crate::EngineError;
use crate::disk::copy_data;

/// Ids of an image.
const IDS: u32 = 65536;

/// A copy under way.
pub(super) struct Copy {
    /// The host id of root inside.
    base: u32,
    /// Below the root, without the leading slash.
    marks: BTreeSet<PathBuf>,
    /// Where the first name of each file that has several went.
    links: HashMap<u64, PathBuf>,
    copied: Copied,
}

impl Copy {
    /// With the places where empty files stand for what was mounted over them.
    pub(super) fn new(base: u32, marks: Vec<PathBuf>) -> Self {
        let below = |path: PathBuf| path.strip_prefix("/").map(Path::to_owned).unwrap_or(path);
        let marks = marks.into_iter().map(below).collect();
        Self { base, marks, links: HashMap::new(), copied: Copied::default() }
    }

    pub(super) fn done(self) -> Copied {
        self.copied
    }

    /// Copies what is in the directory `from` to the empty directory `to`, and how that is to be.
    pub(super) fn root(&mut self, from: &Path, to: &Path) -> Result<(), EngineError> {
        // `from` may be a link to an open directory.
        let metadata = std::fs::metadata(from).map_err(EngineError::state(from))?;
        self.directory(from, to, Path::new(""))?;
        self.dress(&from.join("."), to, &metadata)
    }

    fn directory(&mut self, from: &Path, to: &Path, below: &Path) -> Result<(), EngineError> {
        let entries = std::fs::read_dir(from).map_err(EngineError::state(from))?;
        for entry in entries {
            let name = entry.map_err(EngineError::state(from))?.file_name();
            self.entry(&from.join(&name), &to.join(&name), &below.join(&name))?;
        }
        Ok(())
    }

    fn entry(&mut self, from: &Path, to: &Path, below: &Path) -> Result<(), EngineError> {
        let metadata = from.symlink_metadata().map_err(EngineError::state(from))?;
        let kind = metadata.file_type();
        let is_mark = kind.is_file() && metadata.len() == 0 && self.marks.contains(below);
        // A socket without its process is nothing.
        if is_mark || kind.is_socket() {
            return Ok(());
        }
        if !kind.is_dir() && metadata.nlink() > 1 && !is_whiteout(&metadata) {
            if let Some(first) = self.links.get(&metadata.ino()) {
                return std::fs::hard_link(first, to).map_err(EngineError::state(to));
            }
            self.links.insert(metadata.ino(), to.to_owned());
        }
        self.make(from, to, &metadata)?;
        if kind.is_dir() {
            self.directory(from, to, below)?;
        }
        self.copied.entries += 1;
        self.dress(from, to, &metadata)
    }

    /// Makes the entry, without what [`Copy::dress`] gives it.
    fn make(&mut self, from: &Path, to: &Path, metadata: &Metadata) -> Result<(), EngineError> {
        let kind = metadata.file_type();
        let made = if kind.is_dir() {
            std::fs::create_dir(to)
        } else if kind.is_symlink() {
            std::fs::read_link(from).and_then(|target| std::os::unix::fs::symlink(target, to))
        } else if kind.is_file() {
            self.copied.bytes += metadata.len();
            copy_data(from, to)
        } else {
            let node = mknodat(CWD, to, node(kind), Mode::from_raw_mode(0o600), metadata.rdev());
            node.map_err(std::io::Error::from)
        };
        made.map_err(EngineError::state(to))
    }

    /// Owner, attributes, mode and times, in the order in which none undoes another.
    fn dress(&self, from: &Path, to: &Path, metadata: &Metadata) -> Result<(), EngineError> {
        let failed = || EngineError::state(to);
        let (uid, gid) = (Uid::from_raw(self.id(metadata.uid())), Gid::from_raw(self.id(metadata.gid())));
        chownat(CWD, to, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failed()(errno.into()))?;
        if !metadata.file_type().is_symlink() {
            let mode = PermissionsExt::from_mode(metadata.mode() & 0o7777);
            std::fs::set_permissions(to, mode).map_err(failed())?;
        }
        attributes::copy(from, to, self.base).map_err(failed())?;
        let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
        let times = Timestamps {
            last_access: time(metadata.atime(), metadata.atime_nsec()),
            last_modification: time(metadata.mtime(), metadata.mtime_nsec()),
        };
        utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| failed()(errno.into()))
    }

    /// The image's own id. What the host itself has made, whiteouts say, is root's.
    fn id(&self, id: u32) -> u32 {
        id.checked_sub(self.base).filter(|id| *id < IDS).unwrap_or(0)
    }
}

/// Overlayfs may make all its whiteouts one file with many names.
fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

fn node(kind: FileType) -> Kind {
    if kind.is_fifo() {
        Kind::Fifo
    } else if kind.is_block_device() {
        Kind::BlockDevice
    } else {
        Kind::CharacterDevice
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};
    use std::os::unix::net::UnixListener;

    use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};

    use super::*;

    const BASE: u32 = 0x10_0000;

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    fn a_tree_becomes_a_layer() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: owners and devices need root");
        }
        let place = tempfile::tempdir().expect("tempdir");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        let path = |name: &str| from.join(name);
        std::fs::create_dir_all(path("etc")).expect("etc");
        std::fs::create_dir(&to).expect("to");
        std::fs::write(path("file"), "content").expect("file");
        chown(path("file"), Some(BASE + 1000), Some(BASE + 1001)).expect("chown");
        std::fs::set_permissions(path("file"), PermissionsExt::from_mode(0o4751)).expect("chmod");
        std::fs::hard_link(path("file"), path("again")).expect("link");
        symlink("/nowhere", path("link")).expect("symlink");
        mknodat(CWD, path("gone"), Kind::CharacterDevice, Mode::from_raw_mode(0o600), 0).expect("whiteout");
        let _socket = UnixListener::bind(path("socket")).expect("socket");
        for name in ["etc/hosts", "etc/mtab", "ca.pem"] {
            std::fs::write(path(name), "").expect("empty");
        }
        std::fs::write(path("etc/resolv.conf"), "nameserver ::1\n").expect("a file of its own");
        let set = |name: &str, key: &str, value: &[u8]| {
            lsetxattr(path(name), key, value, XattrFlags::empty()).expect(key);
        };
        set("etc", "trusted.overlay.opaque", b"y");
        set("etc", "trusted.overlay.origin", b"whatever");
        set("file", "user.note", b"mine");

        let marks = ["/etc/hosts", "/etc/resolv.conf", "/ca.pem"].map(PathBuf::from).to_vec();
        let mut copy = Copy::new(BASE, marks);
        copy.root(&from, &to).expect("copied");
        let seen = |name: &str| to.join(name).symlink_metadata();
        let file = seen("file").expect("file");
        assert_eq!((file.uid(), file.gid(), file.mode() & 0o7777), (1000, 1001, 0o4751));
        assert_eq!(file.mtime_nsec(), path("file").metadata().expect("file").mtime_nsec());
        assert_eq!(file.ino(), seen("again").expect("again").ino());
        assert_eq!(std::fs::read_link(to.join("link")).expect("link"), Path::new("/nowhere"));
        assert!(is_whiteout(&seen("gone").expect("whiteout")));
        for absent in ["socket", "etc/hosts", "ca.pem"] {
            assert!(seen(absent).is_err(), "{absent}");
        }
        assert!(seen("etc/mtab").is_ok() && seen("etc/resolv.conf").is_ok());
        let get = |name: &str, key: &str| {
            let mut value = [0; 16];
            lgetxattr(to.join(name), key, &mut value[..]).ok().map(|length| value[..length].to_vec())
        };
        assert_eq!(get("etc", "trusted.overlay.opaque").as_deref(), Some(&b"y"[..]));
        assert_eq!(get("etc", "trusted.overlay.origin"), None);
        assert_eq!(get("file", "user.note").as_deref(), Some(&b"mine"[..]));
        assert_eq!(copy.done().bytes, 7 + 15);
    }
}
