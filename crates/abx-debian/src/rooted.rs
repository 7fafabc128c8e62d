//! Writing below a directory without ever leaving it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, ResolveFlags, Timespec, Timestamps, Uid};

/// A directory as root of all paths: symbolic links and `..` are resolved as if it were `/`, by the kernel.
#[derive(Debug)]
pub(crate) struct Rooted {
    root: OwnedFd,
}

/// Who owns a file, its mode, and its time in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mode: u32,
    pub(crate) mtime: u64,
}

impl Rooted {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { root: rustix::fs::open(path, flags, Mode::empty())? })
    }

    /// A directory below the root; links are followed. It and its parents are made (0755) where absent.
    pub(crate) fn directory(&self, path: &Path) -> io::Result<OwnedFd> {
        match self.resolve(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            let parent = self.directory(parent)?;
            make_directory(&parent, name)?;
        }
        self.resolve(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(&self.root, path, flags, Mode::empty(), inside)?)
    }

    /// Writes a small file, replacing what is there, with its mode.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>, mode: u32) -> io::Result<()> {
        let (parent, name) = self.split(path)?;
        remove_file(&parent, &name)?;
        let mut file = create_file(&parent, &name)?;
        io::Write::write_all(&mut file, content.as_ref())?;
        Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?)
    }

    /// Makes a symbolic link where nothing is, or the same link.
    pub(crate) fn symlink(&self, target: &str, path: &str) -> io::Result<()> {
        let (parent, name) = self.split(path)?;
        symlink_at(target.as_bytes(), &parent, &name)
    }

    fn split(&self, path: &str) -> io::Result<(OwnedFd, std::ffi::OsString)> {
        let path = relative(Path::new(path)).ok_or(io::ErrorKind::InvalidInput)?;
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let parent = self.directory(path.parent().unwrap_or(Path::new("")))?;
        Ok((parent, name))
    }

    /// Sets the attributes of a directory; links are followed.
    pub(crate) fn set_directory(&self, path: &Path, attributes: Attributes) -> io::Result<()> {
        let directory = self.resolve(path)?;
        let owner = (Uid::from_raw(attributes.uid), Gid::from_raw(attributes.gid));
        rustix::fs::chownat(&directory, "", Some(owner.0), Some(owner.1), AtFlags::EMPTY_PATH)?;
        Ok(rustix::fs::chmodat(&directory, ".", Mode::from_raw_mode(attributes.mode), AtFlags::empty())?)
    }
}

/// Makes a directory (0755); one that is there, or a link to one, will do.
pub(crate) fn make_directory(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) => {
            // Whatever the umask is.
            Ok(rustix::fs::chmodat(parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())?)
        }
        Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Makes a file that must not be there yet.
pub(crate) fn create_file(parent: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o600))?))
}

/// Makes a symbolic link where nothing is, or the same link: packages bring `bin -> usr/bin` themselves.
pub(crate) fn symlink_at(target: &[u8], parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::symlinkat(target, parent, name) {
        Err(rustix::io::Errno::EXIST) if is_link_to(parent, name, target) => Ok(()),
        result => Ok(result?),
    }
}

fn is_link_to(parent: &OwnedFd, name: &OsStr, target: &[u8]) -> bool {
    rustix::fs::readlinkat(parent, name, Vec::new()).is_ok_and(|found| found.as_bytes() == target)
}

/// Removes a file or link; its absence is no failure.
fn remove_file(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sets owner, mode and time of an open file. The owner first: changing it clears the set-id bits.
pub(crate) fn set_file(file: &File, attributes: Attributes) -> io::Result<()> {
    if (attributes.uid, attributes.gid) != (0, 0) {
        rustix::fs::fchown(file, Some(Uid::from_raw(attributes.uid)), Some(Gid::from_raw(attributes.gid)))?;
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(attributes.mode))?;
    Ok(rustix::fs::futimens(file, &times(attributes.mtime))?)
}

/// Sets owner and time of a symbolic link itself.
pub(crate) fn set_link(parent: &impl AsFd, name: &OsStr, attributes: Attributes) -> io::Result<()> {
    if (attributes.uid, attributes.gid) != (0, 0) {
        let owner = (Uid::from_raw(attributes.uid), Gid::from_raw(attributes.gid));
        rustix::fs::chownat(parent, name, Some(owner.0), Some(owner.1), AtFlags::SYMLINK_NOFOLLOW)?;
    }
    Ok(rustix::fs::utimensat(parent, name, &times(attributes.mtime), AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Access and modification time alike.
pub(crate) fn times(seconds: u64) -> Timestamps {
    let time = Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}

/// `./usr/bin/`, `/usr/bin` and `usr/bin` as a path relative to the root; `None` where a `..` is in it.
pub(crate) fn relative(path: &Path) -> Option<PathBuf> {
    let mut relative = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) if !part.as_bytes().contains(&0) => relative.push(part),
            Component::CurDir | Component::RootDir => {}
            _ => return None,
        }
    }
    Some(relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_do_not_lead_out() {
        let dir = tempfile::tempdir().expect("tempdir");
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        std::fs::create_dir_all(root.join("usr/lib")).expect("mkdir");
        std::fs::create_dir(&outside).expect("mkdir");
        let rooted = Rooted::open(&root).expect("open");
        rooted.symlink("usr/lib", "lib").expect("symlink");
        rooted.symlink("../../outside", "up").expect("symlink");
        rooted.symlink(outside.to_str().expect("utf-8"), "absolute").expect("symlink");
        rooted.write("/lib/a", "1", 0o644).expect("write");
        assert_eq!(std::fs::read(root.join("usr/lib/a")).expect("read"), b"1");
        assert!(rooted.write("up/b", "2", 0o644).is_err(), "resolves to a place that is not there");
        assert!(rooted.write("absolute/b", "2", 0o644).is_err());
        assert_eq!(std::fs::read_dir(&outside).expect("list").count(), 0);
        assert!(rooted.write("../c", "3", 0o644).is_err());
    }

    #[test]
    fn paths() {
        for (path, expect) in [
            ("./usr/bin/", Some("usr/bin")),
            ("/usr/./bin", Some("usr/bin")),
            ("./", Some("")),
            ("usr/../etc", None),
            ("..", None),
        ] {
            assert_eq!(relative(Path::new(path)).as_deref(), expect.map(Path::new), "{path}");
        }
    }
}
