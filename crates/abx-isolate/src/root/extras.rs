//! Binds and files that exist only while the sandbox runs.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, Result};

use super::inside::{Inside, give};
use super::staging::{Staging, attach_over, clone_tree};
use crate::error::{IsolateError, SystemError};
use crate::launch::{Bind, Ids, Launch, RuntimeFile};
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

/// Files of /run first, so that a bind below it hides rather than receives them; then binds in their order;
/// then files bound over what the root has.
pub(crate) fn lay_down(
    staging: &Staging,
    inside: &Inside<'_>,
    launch: &Launch,
    sources: Vec<OwnedFd>,
) -> std::result::Result<(), IsolateError> {
    let (fleeting, bound): (Vec<_>, Vec<_>) = launch.files.iter().partition(|file| is_below_run(&file.path));
    for file in fleeting {
        write_file(inside, file).map_err(|source| cannot_lay(file, source))?;
    }
    for (bind, source) in launch.binds.iter().zip(sources) {
        attach_bind(inside, bind, &source).map_err(|errno| failed(bind, errno))?;
    }
    for (index, file) in bound.into_iter().enumerate() {
        bind_file(staging, inside, launch.ids, file, &format!("file{index}"))
            .map_err(|source| cannot_lay(file, source))?;
    }
    Ok(())
}

fn is_below_run(path: &Path) -> bool {
    path.starts_with("/run")
}

fn attach_bind(inside: &Inside<'_>, bind: &Bind, source: &OwnedFd) -> Result<()> {
    let target = match inside.find(&bind.target) {
        Err(Errno::NOENT | Errno::NOTDIR) if bind.optional => return Ok(()),
        Err(Errno::NOENT) if is_below_run(&bind.target) => make_target(inside, bind, source)?,
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
