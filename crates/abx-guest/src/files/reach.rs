//! How far a caller's user reaches.
//!
//! The daemon may write everywhere inside, and a caller's user may have it do so: that is what the protocol promises.
//! But processes inside are that user too, and can put a link where the caller's file is to go, at any moment. So all
//! that changes files is first tried with the user's own rights; only where those do not suffice the daemon's are used,
//! and then no link counts that is not root's: a path means what root has made of it, or it is refused.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Gid, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::getuid;
use rustix::thread::set_thread_groups;

use crate::users::User;

/// How many links one path may go through, as in the kernel.
const MAX_LINKS: usize = 40;

/// Where work is to be done, for as long as this lives.
pub(crate) struct Spot {
    pub(crate) path: PathBuf,
    /// The last component may be a link and followed; else the work must not.
    pub(crate) follow: bool,
    /// What `path` goes through.
    _parent: Option<OwnedFd>,
}

impl Spot {
    /// The flag of `open` that heeds [`Spot::follow`].
    pub(crate) fn flags(&self) -> OFlags {
        if self.follow { OFlags::empty() } else { OFlags::NOFOLLOW }
    }
}

/// Whether a link at the very end of a path means what it points to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Followed,
    Itself,
}

/// Does `work` at `paths` with the user's rights or, where they do not suffice, with the daemon's. It may be tried
/// twice.
pub(crate) fn reach<const N: usize, T>(
    user: &User,
    paths: [&Path; N],
    last: Last,
    work: impl Fn(&[Spot; N]) -> io::Result<T>,
) -> io::Result<T> {
    let plain =
        paths.map(|path| Spot { path: path.to_owned(), follow: last == Last::Followed, _parent: None });
    if !getuid().is_root() || user.uid == 0 {
        return work(&plain);
    }
    let tried = {
        let _rights = Rights::of(user)?;
        work(&plain)
    };
    match tried {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let spots: io::Result<Vec<_>> = paths.iter().map(|path| walk(path, last)).collect();
            let spots = <[Spot; N]>::try_from(spots?).unwrap_or_else(|_| unreachable!("as many as paths"));
            work(&spots)
        }
        tried => tried,
    }
}

/// The calling thread's rights over files are the user's, until dropped.
struct Rights {
    groups: Vec<Gid>,
}

impl Rights {
    fn of(user: &User) -> io::Result<Self> {
        let rights = Self { groups: rustix::process::getgroups()? };
        let groups: Vec<_> = user.groups.iter().copied().map(Gid::from_raw).collect();
        match set_thread_groups(&groups) {
            // A namespace made without privilege forbids it; then the daemon's groups are the user's as well.
            Err(Errno::PERM) => {}
            result => result?,
        }
        set_file_ids(user.uid, user.gid);
        Ok(rights)
    }
}

impl Drop for Rights {
    fn drop(&mut self) {
        set_file_ids(0, 0);
        // What the thread had it may have again.
        let _ = set_thread_groups(&self.groups);
    }
}

/// Of this thread alone; with root's number the capabilities over files come and go.
fn set_file_ids(uid: u32, gid: u32) {
    // SAFETY: the calls touch no memory, and cannot fail for root.
    unsafe {
        libc::setfsgid(gid);
        libc::setfsuid(uid);
    }
}

/// The way to `path` by links of root's alone, held open so that nobody changes it meanwhile.
fn walk(path: &Path, last: Last) -> io::Result<Spot> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let mut way = vec![openat(CWD, "/", flags | OFlags::DIRECTORY, Mode::empty())?];
    let mut rest = components(path);
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            way.truncate(way.len().saturating_sub(1).max(1));
            continue;
        }
        let here = way.last().expect("the root is never left");
        let found = match openat(here, &name, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOENT) if rest.is_empty() => return Ok(spot(way, &name)),
            found => found?,
        };
        let status = fstat(&found)?;
        let is_last = rest.is_empty();
        if FileType::from_raw_mode(status.st_mode) == FileType::Symlink && !(is_last && last == Last::Itself)
        {
            links += 1;
            if status.st_uid != 0 || links > MAX_LINKS {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let target = PathBuf::from(OsString::from_vec(readlinkat(&found, "", Vec::new())?.into_bytes()));
            if target.is_absolute() {
                way.truncate(1);
            }
            rest.extend(components(&target));
        } else if is_last {
            return Ok(spot(way, &name));
        } else {
            way.push(found);
        }
    }
    Ok(spot(way, OsStr::new(".")))
}

/// The names of a path, the first one last.
fn components(path: &Path) -> Vec<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        _ => None,
    };
    let mut names: Vec<_> = path.components().filter_map(name).collect();
    names.reverse();
    names
}

fn spot(mut way: Vec<OwnedFd>, name: &OsStr) -> Spot {
    let parent = way.pop().expect("the root is never left");
    let path = Path::new("/proc/self/fd").join(parent.as_raw_fd().to_string()).join(name);
    Spot { path, follow: false, _parent: Some(parent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{lchown, symlink};

    fn seen(path: &Path, last: Last) -> String {
        match walk(path, last) {
            Ok(spot) => std::fs::read_to_string(&spot.path).unwrap_or_else(|error| error.kind().to_string()),
            Err(error) => error.kind().to_string(),
        }
    }

    #[test]
    fn only_roots_links_count() {
        if !getuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().expect("tempdir");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("real/deep")).expect("folders");
        std::fs::write(at("real/file"), "content").expect("file");
        for (target, link) in
            [("real", "ours"), ("real", "theirs"), ("file", "real/last"), ("real/../real/deep/..", "winding")]
        {
            symlink(target, at(link)).expect("link");
        }
        symlink(at("real"), at("absolute")).expect("link");
        symlink("loop", at("loop")).expect("link");
        lchown(at("theirs"), Some(1000), Some(1000)).expect("chown");
        for (path, expected) in [
            ("real/file", "content"),
            ("ours/file", "content"),
            ("absolute/file", "content"),
            ("winding/file", "content"),
            ("ours/last", "content"),
            ("theirs/file", "permission denied"),
            ("real/../theirs/file", "permission denied"),
            ("loop/file", "permission denied"),
            ("real/new", "entity not found"),
            ("none/new", "entity not found"),
        ] {
            assert_eq!(seen(&at(path), Last::Followed), expected, "{path}");
        }
        let link = walk(&at("real/last"), Last::Itself).expect("the link itself");
        assert!(link.path.is_symlink() && !link.follow);
        assert!(walk(Path::new("/"), Last::Followed).expect("the root").path.is_dir());
    }

    #[test]
    fn the_users_rights_come_first_and_then_the_daemons() {
        if !getuid().is_root() {
            return;
        }
        let user = User {
            name: "user".into(),
            uid: 4242,
            gid: 4243,
            groups: vec![4243],
            home: "/".into(),
            shell: "/bin/sh".into(),
        };
        let folder = tempfile::tempdir().expect("tempdir");
        let owner = |name: &str| {
            use std::os::unix::fs::MetadataExt;
            let path = folder.path().join(name);
            let made =
                reach(&user, [path.as_path()], Last::Followed, |[spot]| std::fs::create_dir(&spot.path));
            made.map(|()| path.metadata().expect("made").uid()).map_err(|error| error.kind())
        };
        assert_eq!(owner("by-root"), Ok(0), "a folder of root's");
        std::os::unix::fs::chown(folder.path(), Some(4242), None).expect("chown");
        assert_eq!(owner("by-user"), Ok(4242), "a folder of the user's");
        symlink("/root", folder.path().join("link")).expect("link");
        lchown(folder.path().join("link"), Some(4242), None).expect("chown");
        assert_eq!(owner("link/never"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(getuid().as_raw(), 0);
        std::fs::write(folder.path().join("by-root/again"), "root's rights are back").expect("root writes");
    }
}
