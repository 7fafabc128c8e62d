//! The writable disk of a sandbox: an ext4 image whose size is the limit.
//!
//! Formatting takes some 15 ms, so each size is formatted once and its few blocks of metadata are copied for each
//! sandbox; everything else of the file is a hole. Attaching a file to a loop device syncs it, which waits for the
//! host's disk, so copies are made and synced beforehand, by the monitors of running sandboxes, and a new sandbox
//! takes one by renaming it. The disk of a persistent sandbox has a journal, so that it is whole after a power cut.
//!
//! ```text
//! store/disks/<MB>-v<FORMAT>/formatted     the one to copy
//! store/disks/<MB>-v<FORMAT>/ready-<n>     copies to take
//! store/disks/<MB>-v<FORMAT>-journal/…     the same with a journal
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abx_core::Home;
use abx_core::fs::{Lock, Staging};
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::EngineError;

/// Copies kept ready of each size.
const READY: usize = 12;

/// Makes `target` a fresh, empty disk of `size` MB; a durable one has a journal.
pub fn create(home: &Home, size: u64, durable: bool, target: &Path) -> Result<(), EngineError> {
    let dir = directory(home, size, durable);
    let taken = (0..READY).any(|number| std::fs::rename(ready(&dir, number), target).is_ok());
    if taken {
        return Ok(());
    }
    let formatted = formatted(&dir, home, size, durable)?;
    copy_data(&formatted, target).map_err(EngineError::state(target))
}

/// Makes up for what was taken. Meant for a moment when nobody waits; one process at a time does it, and what it
/// cannot do is left for the next.
pub fn refill(home: &Home, size: u64, durable: bool) {
    let dir = directory(home, size, durable);
    let Ok(Some(_alone)) = Lock::try_exclusive(&dir.join("refill.lock")) else { return };
    let formatted = dir.join(FORMATTED);
    for path in (0..READY).map(|number| ready(&dir, number)).filter(|path| !path.exists()) {
        if make_ready(&formatted, &dir.join("refill.new"), &path).is_err() {
            return;
        }
    }
}

fn make_ready(formatted: &Path, temporary: &Path, path: &Path) -> io::Result<()> {
    match std::fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    copy_data(formatted, temporary)?;
    File::open(temporary)?.sync_all()?;
    std::fs::rename(temporary, path)
}

fn directory(home: &Home, size: u64, durable: bool) -> PathBuf {
    let journal = if durable { "-journal" } else { "" };
    home.store("disks").join(format!("{size}-v{FORMAT}{journal}"))
}

fn ready(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("ready-{number}"))
}

const FORMATTED: &str = "formatted";

/// The formatted disk of that size, made where absent.
fn formatted(dir: &Path, home: &Home, size: u64, durable: bool) -> Result<PathBuf, EngineError> {
    let path = dir.join(FORMATTED);
    if path.exists() {
        return Ok(path);
    }
    let _lock = Lock::exclusive(&dir.join("format.lock")).map_err(EngineError::state(dir))?;
    if path.exists() {
        return Ok(path);
    }
    let parent = home.store("staging");
    let staging = Staging::new(&parent).map_err(EngineError::state(&parent))?;
    let image = staging.path().join("disk");
    File::create_new(&image).and_then(|file| file.set_len(size << 20)).map_err(EngineError::state(&image))?;
    format(&image, size, durable)?;
    staging.publish("disk", &path).map_err(EngineError::state(&path))?;
    Ok(path)
}

/// Raise it when the options below change.
const FORMAT: u32 = 1;

/// MB of a journal: small, since it counts towards the limit.
const JOURNAL: u64 = 8;

fn format(image: &Path, size: u64, durable: bool) -> Result<(), EngineError> {
    // A journal only where the disk outlives the host's power. Packed metadata and uninitialised groups keep the
    // part to copy small. No blocks reserved: the limit is what the template says.
    let journal = if durable { "has_journal" } else { "^has_journal" };
    let features = format!("{journal},^resize_inode,sparse_super2,metadata_csum,extent,huge_file,dir_index");
    let mut mkfs = Command::new("mkfs.ext4");
    mkfs.args(["-q", "-F", "-m", "0", "-b", "4096", "-O", &features]);
    if durable {
        mkfs.args(["-J", &format!("size={JOURNAL}")]);
    }
    let output = mkfs
        .args(["-E", "packed_meta_blocks=1,lazy_itable_init=1,lazy_journal_init=1,nodiscard,num_backup_sb=0"])
        .arg(image)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| EngineError::Format { size, detail: format!("mkfs.ext4: {error}") })?;
    if !output.status.success() {
        let detail = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(EngineError::Format { size, detail });
    }
    Ok(())
}

/// Copies the data of `from` and leaves its holes out.
pub(crate) fn copy_data(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let length = source.metadata()?.len();
    let target = File::create_new(to)?;
    target.set_len(length)?;
    let mut buffer = vec![0; 256 << 10];
    let mut position = 0;
    loop {
        let start = match seek(&source, SeekFrom::Data(position)) {
            Ok(start) => start,
            // No data behind `position`.
            Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let end = seek(&source, SeekFrom::Hole(start))?;
        position = start;
        while position < end {
            let wanted = buffer.len().min(usize::try_from(end - position).unwrap_or(usize::MAX));
            let read = source.read_at(&mut buffer[..wanted], position)?;
            if read == 0 {
                return Ok(());
            }
            // mkfs writes zeros too; a hole reads the same and costs nothing.
            if buffer[..read].iter().any(|byte| *byte != 0) {
                target.write_all_at(&buffer[..read], position)?;
            }
            position += read as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    fn a_disk_is_sparse_and_its_own_and_ready_ones_are_taken_first() {
        if Command::new("mkfs.ext4").arg("-V").output().is_err() {
            eprintln!("skipped: mkfs.ext4 is not installed");
            return;
        }
        let root = tempfile::tempdir().expect("tempdir");
        let home = Home::new(root.path());
        for durable in [false, true] {
            let disk = |name: &str| root.path().join(format!("{name}-{durable}"));
            create(&home, 256, durable, &disk("a")).expect("a copy");
            refill(&home, 256, durable);
            let dir = directory(&home, 256, durable);
            assert!((0..READY).all(|number| ready(&dir, number).exists()));
            create(&home, 256, durable, &disk("b")).expect("a ready one");
            assert!(!ready(&dir, 0).exists());
            refill(&home, 256, durable);
            assert!(ready(&dir, 0).exists());
            let [a, b] = ["a", "b"].map(|name| disk(name).metadata().expect("disk"));
            assert_eq!((a.len(), b.len()), (256 << 20, 256 << 20));
            assert!(a.blocks() * 512 < 1 << 20 && b.blocks() * 512 < 1 << 20);
            assert_ne!(a.ino(), b.ino());
        }
    }
}
