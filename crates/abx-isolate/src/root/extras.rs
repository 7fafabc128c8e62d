//! Binds and files that exist only while the sandbox runs.

use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, openat};
use rustix::io::{Errno, Result};
use rustix::mount::MountAttrFlags;
use std::os::fd::{AsFd, OwnedFd};

use super::inside::{Inside, give};
use super::staging::{Staging, attach_over, clone_tree, new_mount};
use crate::error::{IsolateError, SystemError, mounting};
use crate::launch::{Bind, Ids, Launch, Memory, RuntimeFile, SecretFile};
use crate::sys;

/// Copies of the host's trees to bind, taken while the host's paths can still be seen; one for each bind.
pub(crate) fn open_sources(binds: &[Bind]) -> std::result::Result<Vec<OwnedFd>, IsolateError> {
    binds.iter().map(|bind| clone_source(bind).map_err(|errno| failed(bind, errno))).collect()
}

fn clone_source(bind: &Bind) -> Result<OwnedFd> {
    let tree = clone_tree(CWD, &bind.source, true)?;
    let read_only = if bind.read_only { sys::MOUNT_ATTR_RDONLY } else { 0 };
    let set = sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV | read_only;
    sys::mount_setattr(&tree, set, None, true)?;
    Ok(tree)
}

/// Files of the fleeting directory first, so that a bind below it hides rather than receives them; then binds and what
/// is in memory in their order; then files bound over what the root has.
pub(crate) fn lay_down(
    staging: &Staging,
    inside: &Inside<'_>,
    launch: &Launch,
    sources: Vec<OwnedFd>,
) -> std::result::Result<(), IsolateError> {
    let (fleeting, bound): (Vec<_>, Vec<_>) =
        launch.files.iter().partition(|file| file.path.starts_with(launch.fleeting()));
    for file in fleeting {
        write_file(inside, file).map_err(|source| cannot_lay(file, source))?;
    }
    let mut memories = launch.extras.memory.iter().peekable();
    let mount =
        |memory: &Memory| mount_memory(inside, memory).map_err(mounting(memory.target.display().to_string()));
    for (index, (bind, source)) in launch.binds.iter().zip(sources).enumerate() {
        while let Some(memory) = memories.next_if(|memory| memory.after <= index) {
            mount(memory)?;
        }
        let is_made = bind.target.starts_with(launch.fleeting()) || is_on_mount(launch, index);
        attach_bind(inside, bind, &source, is_made).map_err(|errno| failed(bind, errno))?;
    }
    memories.try_for_each(mount)?;
    for (index, file) in bound.into_iter().enumerate() {
        bind_file(staging, inside, launch.ids, file, &format!("file{index}"))
            .map_err(|source| cannot_lay(file, source))?;
    }
    for (index, secret) in launch.extras.secrets.iter().enumerate() {
        lay_secret(staging, inside, launch.ids, secret, &format!("secret{index}"))
            .map_err(|source| IsolateError::RuntimeFile { path: secret.path.clone(), source })?;
    }
    Ok(())
}

/// Whether the target of a bind lies on what a step of a Dockerfile has mounted before it, and so not in the root.
fn is_on_mount(launch: &Launch, index: usize) -> bool {
    let target = &launch.binds[index].target;
    let mut binds = launch.binds[..index].iter().map(|bind| &bind.target);
    let mut memories = launch.extras.memory.iter().filter(|memory| memory.after <= index);
    launch.extras.fleeting.is_some()
        && (binds.any(|mounted| target.starts_with(mounted))
            || memories.any(|memory| target.starts_with(&memory.target)))
}

/// With `is_made` its target is made where it is missing: that leaves no trace in the root.
fn attach_bind(inside: &Inside<'_>, bind: &Bind, source: &OwnedFd, is_made: bool) -> Result<()> {
    let target = match inside.find(&bind.target) {
        Err(Errno::NOENT | Errno::NOTDIR) if bind.optional => return Ok(()),
        Err(Errno::NOENT) if is_made => make_target(inside, bind, source)?,
        found => found?,
    };
    attach_over(source, target)
}

/// A directory or an empty file, like what is bound over it.
fn make_target(inside: &Inside<'_>, bind: &Bind, source: &OwnedFd) -> Result<OwnedFd> {
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(source)?.st_mode);
    if kind.is_dir() { inside.directory(&bind.target) } else { inside.file(&bind.target, 0o644) }
}

fn write_file(inside: &Inside<'_>, file: &RuntimeFile) -> std::result::Result<(), SystemError> {
    inside.file(&file.path, 0o600)?;
    let open = inside.open(&file.path, OFlags::WRONLY | OFlags::TRUNC, Mode::empty())?;
    fill(open, file)
}

/// Writes the file into the staging tree, belonging to root inside, and binds it read-only.
fn bind_file(
    staging: &Staging,
    inside: &Inside<'_>,
    ids: Ids,
    file: &RuntimeFile,
    name: &str,
) -> std::result::Result<(), SystemError> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let open = openat(&staging.tree, name, flags, Mode::from_raw_mode(0o600))?;
    give(ids, staging.tree.as_fd(), name.as_ref())?;
    fill(open, file)?;
    let tree = clone_tree(&staging.tree, name, false)?;
    let set = sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    sys::mount_setattr(&tree, set, None, false)?;
    Ok(attach_over(&tree, inside.file(&file.path, 0o644)?)?)
}

fn mount_memory(inside: &Inside<'_>, memory: &Memory) -> Result<()> {
    let size = memory.size.map(|size| size.to_string());
    let mut options = vec![("mode", "1777")];
    options.extend(size.as_deref().map(|size| ("size", size)));
    let closed = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    attach_over(&new_mount("tmpfs", &options, closed)?, inside.directory(&memory.target)?)
}

/// Writes the secret into the staging tree, belonging to whom it shall, and binds it read-only.
fn lay_secret(
    staging: &Staging,
    inside: &Inside<'_>,
    ids: Ids,
    secret: &SecretFile,
    name: &str,
) -> std::result::Result<(), SystemError> {
    use std::io::Write;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let open = openat(&staging.tree, name, flags, Mode::from_raw_mode(0o600))?;
    let (uid, gid) = (Uid::from_raw(ids.root() + secret.uid), Gid::from_raw(ids.root() + secret.gid));
    rustix::fs::fchown(&open, Some(uid), Some(gid))?;
    rustix::fs::fchmod(&open, Mode::from_raw_mode(secret.mode))?;
    std::fs::File::from(open).write_all(&secret.content)?;
    let tree = clone_tree(&staging.tree, name, false)?;
    let set = sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    sys::mount_setattr(&tree, set, None, false)?;
    Ok(attach_over(&tree, inside.file(&secret.path, 0o644)?)?)
}

fn fill(open: OwnedFd, file: &RuntimeFile) -> std::result::Result<(), SystemError> {
    use std::io::Write;
    rustix::fs::fchmod(&open, Mode::from_raw_mode(file.mode))?;
    Ok(std::fs::File::from(open).write_all(file.content.as_bytes())?)
}

fn failed(bind: &Bind, errno: Errno) -> IsolateError {
    IsolateError::Bind { origin: bind.source.clone(), target: bind.target.clone(), source: errno.into() }
}

fn cannot_lay(file: &RuntimeFile, source: SystemError) -> IsolateError {
    IsolateError::RuntimeFile { path: file.path.clone(), source }
}
