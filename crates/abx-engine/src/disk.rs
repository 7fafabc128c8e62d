//! The writable disk of a sandbox: an ext4 image whose size is the limit.
//!
//! Formatting takes some 15 ms, so each size is formatted once (`store/disks/<MB>.ext4`) and its few blocks of
//! metadata are copied for each sandbox; everything else of the file is a hole.

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

/// Makes `target` a fresh, empty disk of `size` MB.
pub fn create(home: &Home, size: u64, target: &Path) -> Result<(), EngineError> {
    let template = formatted(home, size)?;
    copy_sparse(&template, target).map_err(EngineError::state(target))
}

/// The formatted disk of that size, made where absent.
fn formatted(home: &Home, size: u64) -> Result<PathBuf, EngineError> {
    let path = home.store("disks").join(format!("{size}-v{FORMAT}.ext4"));
    if path.exists() {
        return Ok(path);
    }
    let lock = home.store("locks").join(format!("disk-{size}"));
    let _lock = Lock::exclusive(&lock).map_err(EngineError::state(&lock))?;
    if path.exists() {
        return Ok(path);
    }
    let parent = home.store("staging");
    let staging = Staging::new(&parent).map_err(EngineError::state(&parent))?;
    let image = staging.path().join("disk");
    File::create_new(&image).and_then(|file| file.set_len(size << 20)).map_err(EngineError::state(&image))?;
    format(&image, size)?;
    staging.publish("disk", &path).map_err(EngineError::state(&path))?;
    Ok(path)
}

/// Raise it when the options below change.
const FORMAT: u32 = 1;

fn format(image: &Path, size: u64) -> Result<(), EngineError> {
    // No journal: the disk lives no longer than its sandbox. Packed metadata and uninitialised groups keep the
    // part to copy small. No blocks reserved: the limit is what the template says.
    let output = Command::new("mkfs.ext4")
        .args(["-q", "-F", "-m", "0", "-b", "4096"])
        .args(["-O", "^has_journal,^resize_inode,sparse_super2,metadata_csum,extent,huge_file,dir_index"])
        .args(["-E", "packed_meta_blocks=1,lazy_itable_init=1,nodiscard,num_backup_sb=0"])
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
fn copy_sparse(from: &Path, to: &Path) -> io::Result<()> {
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
