//! The writable layer.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid, chownat, mkdirat, openat};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::staging::new_mount;
use crate::error::{Feature, IsolateError};
use crate::launch::{Disk, Ids, Upper};
use crate::{sys, userns};

/// A writable layer, opened.
pub(crate) struct Writable {
    /// The mount the directories are in, where it is not the host's: attached somewhere before use.
    pub(crate) tree: Option<OwnedFd>,
    pub(crate) upper: OwnedFd,
    pub(crate) work: OwnedFd,
    /// As the user knows them; relative to `tree` where that is given.
    pub(crate) paths: (PathBuf, PathBuf),
    pub(crate) volatile: bool,
}

const UPPER: &str = "upper";
const WORK: &str = "work";

/// Mounts the disk, where there is one, detached; its directories are made. The owner does this while the child
/// prepares the rest.
pub(crate) fn prepare(upper: &Upper, ids: Ids) -> Result<Option<OwnedFd>, IsolateError> {
    let Upper::Disk(disk) = upper else { return Ok(None) };
    let tree = mount_image(disk)?;
    if let Some(carried) = disk.ids.filter(|carried| *carried != ids) {
        let userns = userns::between(carried, ids)?;
        sys::mount_setattr(tree.as_fd(), 0, Some(userns.as_fd()), false)
            .map_err(|errno| unusable(&disk.image, errno))?;
    }
    for name in [UPPER, WORK] {
        make_directory(&tree, name, ids).map_err(|errno| unusable(&disk.image, errno))?;
    }
    Ok(Some(tree))
}

/// Opens the writable layer; its top directory belongs to root inside.
pub(crate) fn open(upper: &Upper, ids: Ids, disk: Option<OwnedFd>) -> Result<Writable, IsolateError> {
    let (paths, volatile) = match upper {
        Upper::Dir { upper, work, volatile } => ((upper.clone(), work.clone()), *volatile),
        Upper::Disk(_) => ((UPPER.into(), WORK.into()), false),
    };
    let open = |path: &Path| match &disk {
        Some(tree) => own_directory(tree, path, ids),
        None => own_directory(CWD, path, ids),
    };
    let opened = |path: &Path| {
        open(path).map_err(|errno| IsolateError::File { path: path.to_owned(), source: errno.into() })
    };
    let (upper, work) = (opened(&paths.0)?, opened(&paths.1)?);
    Ok(Writable { tree: disk, upper, work, paths, volatile })
}

fn make_directory(tree: &OwnedFd, name: &str, ids: Ids) -> rustix::io::Result<OwnedFd> {
    match mkdirat(tree, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => own_directory(tree, Path::new(name), ids),
        Err(errno) => Err(errno),
    }
}

/// An overlay's upper directory is its root directory, so its owner counts.
fn own_directory(at: impl AsFd, path: &Path, ids: Ids) -> rustix::io::Result<OwnedFd> {
    let directory = openat(at, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    if ids.root() != 0 {
        let (uid, gid) = (Uid::from_raw(ids.root()), Gid::from_raw(ids.root()));
        chownat(&directory, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
    }
    Ok(directory)
}

/// The files that a sandbox has written to the disk in `image`, as they lie there: ids are those of the host. A disk in
/// use is seen as its sandbox sees it. The disk stays mounted until the descriptor is closed.
pub fn open_disk(image: &Path) -> Result<OwnedFd, IsolateError> {
    let tree = match attached_to(image)? {
        // The kernel has one file system for a device, however often it is mounted.
        Some((_device, path)) => mount_ext4(&path, true).map_err(|errno| unusable(image, errno))?,
        None => mount_image(&Disk { durable: true, ..Disk::new(image) })?,
    };
    openat(&tree, UPPER, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| unusable(image, errno))
}

/// Whether the disk in `image` is still mounted somewhere: a second device over the same file would damage it.
pub fn disk_in_use(image: &Path) -> Result<bool, IsolateError> {
    Ok(attached_to(image)?.is_some())
}

/// The loop device that `image` is attached to. As long as it is open it stays so, and is not given to another image.
fn attached_to(image: &Path) -> Result<Option<(File, String)>, IsolateError> {
    let failed = |error: std::io::Error| IsolateError::Disk { path: image.to_owned(), source: error.into() };
    let wanted = std::fs::metadata(image).map_err(failed)?;
    let devices = std::fs::read_dir("/sys/block").map_err(failed)?;
    for device in devices.flatten().filter(|device| device.path().join("loop/backing_file").exists()) {
        let path = format!("/dev/{}", device.file_name().to_string_lossy());
        let Ok(file) = File::open(&path) else { continue };
        // SAFETY: all zero is a valid value for every field.
        let mut info: LoopInfo = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel writes the structure during the call.
        let status =
            sys::check(unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) }.into());
        if status.is_ok() && (info.device, info.inode) == (wanted.dev(), wanted.ino()) {
            return Ok(Some((file, path)));
        }
    }
    Ok(None)
}

/// Mounts the ext4 file system of `disk`, detached.
fn mount_image(disk: &Disk) -> Result<OwnedFd, IsolateError> {
    let (_device, path) = attach_loop(&disk.image)?;
    mount_ext4(&path, disk.durable).map_err(|errno| match errno {
        Errno::NODEV => IsolateError::Lacks { feature: Feature::Ext4, source: errno.into() },
        errno => unusable(&disk.image, errno),
    })
}

/// Where the sandbox does not survive a crash of the host, its disk need not: nothing waits for the platter.
fn mount_ext4(device: &str, durable: bool) -> rustix::io::Result<OwnedFd> {
    let barrier = if durable { "1" } else { "0" };
    new_mount("ext4", &[("source", device), ("barrier", barrier)], MountAttrFlags::MOUNT_ATTR_NOATIME)
}

/// Attaches `image` to a free loop device, which detaches itself once nothing uses it: at the latest when the
/// sandbox's mount namespace ends.
fn attach_loop(image: &Path) -> Result<(OwnedFd, String), IsolateError> {
    let file = File::options()
        .read(true)
        .write(true)
        .open(image)
        .map_err(|error| IsolateError::Disk { path: image.to_owned(), source: error.into() })?;
    let lacks = |errno: Errno| IsolateError::Lacks { feature: Feature::LoopDevices, source: errno.into() };
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let control = openat(CWD, "/dev/loop-control", flags, Mode::empty()).map_err(lacks)?;
    loop {
        // SAFETY: takes no argument.
        let number = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
        sys::check(number.into()).map_err(lacks)?;
        let path = format!("/dev/loop{number}");
        let device = openat(CWD, &path, flags, Mode::empty()).map_err(lacks)?;
        match configure(&device, &file) {
            Ok(()) => return Ok((device, path)),
            // Another was faster.
            Err(Errno::BUSY) => {}
            Err(errno) => return Err(unusable(image, errno)),
        }
    }
}

fn configure(device: &OwnedFd, file: &File) -> rustix::io::Result<()> {
    // SAFETY: all zero is a valid value for every field.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.descriptor = file.as_raw_fd() as u32;
    config.info.flags = LO_FLAGS_AUTOCLEAR;
    // SAFETY: the kernel reads the structure during the call.
    sys::check(unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) }.into())
}

const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4c82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4c0a;
const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;
const LO_FLAGS_AUTOCLEAR: u32 = 4;

/// `struct loop_config`, of which we fill the file and the flags.
#[repr(C)]
struct LoopConfig {
    descriptor: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

fn unusable(image: &Path, errno: Errno) -> IsolateError {
    IsolateError::Disk { path: image.to_owned(), source: errno.into() }
}
