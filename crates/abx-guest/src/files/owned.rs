//! Making and replacing what belongs to a user, within the user's [`reach`](super::reach).

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, Gid, OFlags, Uid, chownat, fchown};
use rustix::process::getuid;

use super::reach::{Last, Spot, reach};
use crate::users::User;

/// Makes a directory and its missing parents; what is made belongs to `user`. An existing one is left as it is.
pub(crate) fn create_dirs(path: &Path, user: &User) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_dirs(parent, user)?;
    }
    let made = reach(user, [path], Last::Itself, |[spot]| {
        DirBuilder::new().mode(0o755).create(&spot.path)?;
        give(spot, user)
    });
    match made {
        // Another call was faster, or something else than a directory is in the way.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(io::ErrorKind::NotADirectory.into())
        }
        made => made,
    }
}

/// Opens a file for writing from scratch, made where absent, with its parents. It belongs to `user` from then
/// on, and keeps its mode. Returns whether it is new.
pub(crate) fn create_file(path: &Path, user: &User) -> io::Result<(File, bool)> {
    if let Some(parent) = path.parent() {
        create_dirs(parent, user)?;
    }
    match path.metadata() {
        Ok(status) if status.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(status) if !status.is_file() => return Err(io::ErrorKind::InvalidInput.into()),
        _ => {}
    }
    let (file, is_new, is_ours_to_give) =
        reach(user, [path], Last::Followed, |[spot]| open_or_create(spot, user))?;
    if !is_new {
        file.set_len(0)?;
    }
    if is_new || is_ours_to_give {
        let (uid, gid) = ids(user);
        fchown(&file, uid, gid)?;
    }
    Ok((file, is_new))
}

/// Returns the file, whether it is new, and whether it may be given to the user.
fn open_or_create(spot: &Spot, user: &User) -> io::Result<(File, bool, bool)> {
    let mut options = OpenOptions::new();
    // A pipe that has taken the file's place must not hold us up.
    let flags = spot.flags() | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.write(true).mode(0o644).custom_flags(flags.bits().cast_signed());
    let file = match options.create_new(true).open(&spot.path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).create(true).open(&spot.path)?
        }
        file => return file.map(|file| (file, true, true)),
    };
    let status = file.metadata()?;
    if !status.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let is_users = !getuid().is_root() || status.uid() == user.uid || user.uid == 0;
    if !spot.follow && !is_users && status.nlink() > 1 {
        // Under another name it is somebody else's.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok((file, false, is_users || !spot.follow))
}

/// Makes a new file in the place of whatever file or link is there.
pub(crate) fn replace_file(path: &Path, user: &User) -> io::Result<File> {
    let file = reach(user, [path], Last::Itself, |[spot]| {
        clear(spot)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&spot.path)
    })?;
    let (uid, gid) = ids(user);
    fchown(&file, uid, gid)?;
    Ok(file)
}

/// Makes a link in the place of whatever file or link is there.
pub(crate) fn replace_link(path: &Path, target: &Path, user: &User) -> io::Result<()> {
    reach(user, [path], Last::Itself, |[spot]| {
        clear(spot)?;
        std::os::unix::fs::symlink(target, &spot.path)?;
        give(spot, user)
    })
}

/// Makes another name for the file `of`, in the place of whatever file or link is there.
pub(crate) fn replace_name(path: &Path, of: &Path, user: &User) -> io::Result<()> {
    reach(user, [of, path], Last::Itself, |[of, spot]| {
        clear(spot)?;
        std::fs::hard_link(&of.path, &spot.path)
    })
}

/// Gives a directory its mode and time, and to `user` where the user cannot do that.
pub(crate) fn finish_dir(path: &Path, mode: u32, modified: SystemTime, user: &User) -> io::Result<()> {
    reach(user, [path], Last::Followed, |[spot]| {
        let flags = spot.flags() | OFlags::DIRECTORY;
        let mut options = OpenOptions::new();
        let directory = options.read(true).custom_flags(flags.bits().cast_signed()).open(&spot.path)?;
        if !spot.follow || user.uid == 0 {
            let (uid, gid) = ids(user);
            fchown(&directory, uid, gid)?;
        }
        directory.set_permissions(Permissions::from_mode(mode))?;
        // Times are a courtesy; a file system may refuse them.
        let _ = directory.set_modified(modified);
        Ok(())
    })
}

/// Moves a file or directory, also a link, which stays one; the destination's parents are made.
pub(crate) fn rename(from: &Path, to: &Path, user: &User) -> io::Result<()> {
    from.symlink_metadata()?;
    if let Some(parent) = to.parent() {
        create_dirs(parent, user)?;
    }
    reach(user, [from, to], Last::Itself, |[from, to]| std::fs::rename(&from.path, &to.path))
}

/// Removes a file or link, or a directory with all that is in it.
pub(crate) fn remove(path: &Path, user: &User) -> io::Result<()> {
    reach(user, [path], Last::Itself, |[spot]| match spot.path.symlink_metadata()?.is_dir() {
        true => std::fs::remove_dir_all(&spot.path),
        false => std::fs::remove_file(&spot.path),
    })
}

/// Opens a file whose content goes to another of the user's.
pub(crate) fn open(path: &Path, user: &User) -> io::Result<File> {
    reach(user, [path], Last::Followed, |[spot]| {
        let flags = spot.flags() | OFlags::NONBLOCK | OFlags::NOCTTY;
        OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&spot.path)
    })
}

fn clear(spot: &Spot) -> io::Result<()> {
    match std::fs::remove_file(&spot.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        cleared => cleared,
    }
}

/// Makes what has just been made belong to `user`, which it does where it was made with the user's rights.
fn give(spot: &Spot, user: &User) -> io::Result<()> {
    let (uid, gid) = ids(user);
    Ok(chownat(CWD, &spot.path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Where we are not root, everything we make is ours and stays so.
fn ids(user: &User) -> (Option<Uid>, Option<Gid>) {
    if !getuid().is_root() {
        return (Some(getuid()), None);
    }
    (Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)))
}
