//! Files that are there whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, IFlags, flock, ioctl_getflags, ioctl_setflags};

/// Writes `bytes` to `path` so that a reader sees the old content or the new, never a part: a temporary
/// file beside it, then `rename`. Parent directories are made. Mode 0644 before the umask.
///
/// Nothing waits for the disk: a power cut within seconds may take the content, and leave a file that is
/// empty. Readers take what they cannot parse for absent; [`write_durable`] is for what must not go.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent)?;
    write_beside(parent, bytes)?.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Like [`write_atomic`], in a directory that exists, with the content on disk before it gets its name.
pub fn write_durable(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = write_beside(path.parent().unwrap_or(Path::new(".")), bytes)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn write_beside(parent: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".tmp-").permissions(mode(0o644)).tempfile_in(parent)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Like [`write_atomic`] in a directory that exists and with one writer at a time: the cheapest of them.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    std::fs::write(&temporary, bytes)?;
    std::fs::rename(&temporary, path)
}

/// Has the directories made in `directory` placed far from each other, where the file system can (ext4).
///
/// ext4 puts a new file near its directory, and passes over every inode there that was freed within the last
/// minutes, one by one: where many things were deleted nearby, making one file takes a millisecond. To be
/// called on a directory whose entries come and go with many files in them.
pub fn spread(directory: &Path) -> io::Result<()> {
    let directory = File::open(directory)?;
    // A hint: file systems that have no such flag need none.
    if let Ok(flags) = ioctl_getflags(&directory)
        && !flags.contains(IFlags::TOPDIR)
    {
        let _ = ioctl_setflags(&directory, flags | IFlags::TOPDIR);
    }
    Ok(())
}

/// Notes that `path` was used now, in its modification time; once a minute is often enough for whoever asks. What
/// cannot be noted is no reason to fail.
pub fn touch(path: &Path) {
    const OFTEN: std::time::Duration = std::time::Duration::from_secs(60);
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    if modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > OFTEN))
        && let Ok(file) = File::open(path)
    {
        let _ = file.set_modified(std::time::SystemTime::now());
    }
}

fn mode(bits: u32) -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(bits)
}

/// An advisory lock on a file, held until dropped (or the process ends, however it ends).
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Waits until no other process or `Lock` holds `path`; the file is made where absent.
    pub fn exclusive(path: &Path) -> io::Result<Self> {
        let file = open_lock(path)?;
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        Ok(Self { file })
    }

    /// Waits like [`Lock::exclusive`], but any number of holders may share it.
    pub fn shared(path: &Path) -> io::Result<Self> {
        let file = open_lock(path)?;
        rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockShared))?;
        Ok(Self { file })
    }

    /// Takes the lock if it is free; `None` when another holds it.
    pub fn try_exclusive(path: &Path) -> io::Result<Option<Self>> {
        let file = open_lock(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the lock together with others who share it; `None` when one holds it alone.
    pub fn try_shared(path: &Path) -> io::Result<Option<Self>> {
        let file = open_lock(path)?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Some(Self { file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether somebody holds `path` exclusively now. Asking takes nothing; a missing file is not held.
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return false };
        // A shared lock fails only while an exclusive one is held, and goes when `file` does.
        matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(rustix::io::Errno::WOULDBLOCK))
    }

    /// The open file behind the lock: a process that inherits it holds the lock too.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Takes over a lock whose file was inherited.
    pub fn inherited(file: File) -> Self {
        Self { file }
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    OpenOptions::new().create(true).truncate(false).write(true).open(path)
}

/// A directory for a half-made entry. While it lives its maker holds a lock on `<dir>.lock`, so that
/// [`sweep_staging`] can tell an abandoned one; dropping it removes it.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: Lock,
}

impl Staging {
    /// A fresh directory under `parent` (made where absent), mode 0755.
    pub fn new(parent: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(parent)?;
        spread(parent)?;
        loop {
            let name = format!("{}-{:08x}", std::process::id(), random_u32());
            let lock_path = parent.join(format!("{name}.lock"));
            let path = parent.join(name);
            if lock_path.exists() {
                continue;
            }
            let Some(lock) = Lock::try_exclusive(&lock_path)? else { continue };
            // Whoever sweeps at this moment may have taken it for one that was left behind.
            if !is_at(lock.file(), &lock_path)? {
                continue;
            }
            std::fs::create_dir(&path)?;
            return Ok(Self { path, lock_path, _lock: lock });
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Renames `sub` of this directory to `target`, whose parent is made. Where `target` exists already,
    /// another process was faster with the same content: ours is dropped and that is a success.
    pub fn publish(self, sub: &str, target: &Path) -> io::Result<()> {
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match std::fs::rename(self.path.join(sub), target) {
            Err(error) if target.exists() => {
                drop(error);
                Ok(())
            }
            result => result,
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

/// Removes staging directories whose makers are gone, and returns how many there were.
pub fn sweep_staging(parent: &Path) -> io::Result<usize> {
    let entries = match std::fs::read_dir(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut swept = 0;
    for entry in entries {
        let lock_path = entry?.path();
        if lock_path.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        if let Some(_lock) = Lock::try_exclusive(&lock_path)? {
            let path = lock_path.with_extension("");
            if path.exists() {
                std::fs::remove_dir_all(&path)?;
                swept += 1;
            }
            // Its maker, or another who sweeps, may have been faster.
            match std::fs::remove_file(&lock_path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(swept)
}

/// Whether the open `file` is what `path` names.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(id(found?) == id(file.metadata()?)),
    }
}

fn random_u32() -> u32 {
    use std::hash::{BuildHasher, Hasher};
    let random = std::collections::hash_map::RandomState::new();
    random.build_hasher().finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_staging_is_swept_and_a_live_one_kept() {
        let home = tempfile::tempdir().expect("tempdir");
        let live = Staging::new(home.path()).expect("staging");
        let dead = home.path().join("1-dead");
        std::fs::create_dir(&dead).expect("mkdir");
        std::fs::write(home.path().join("1-dead.lock"), "").expect("lock file");
        assert_eq!(sweep_staging(home.path()).expect("sweep"), 1);
        assert!(live.path().exists());
        assert!(!dead.exists());
    }

    #[test]
    fn whoever_sweeps_while_others_begin_takes_nothing_from_them() {
        let home = tempfile::tempdir().expect("tempdir");
        let begin = || {
            for _ in 0..300 {
                let staging = Staging::new(home.path()).expect("staging");
                std::fs::write(staging.path().join("file"), "").expect("write");
                assert!(is_at(staging._lock.file(), &staging.lock_path).expect("the lock"));
            }
        };
        std::thread::scope(|scope| {
            let begun: Vec<_> = (0..2).map(|_| scope.spawn(begin)).collect();
            let sweep = || assert_eq!(sweep_staging(home.path()).expect("sweep"), 0);
            scope.spawn(move || (0..300).for_each(|_| sweep()));
            while begun.iter().any(|thread| !thread.is_finished()) {
                sweep();
            }
        });
        assert_eq!(std::fs::read_dir(home.path()).expect("list").count(), 0);
    }

    #[test]
    fn a_lock_is_shared_by_many_or_held_by_one() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("lock");
        let shared = [Lock::try_shared(&path), Lock::try_shared(&path)].map(|lock| lock.expect("lock"));
        assert!(shared.iter().all(Option::is_some));
        assert!(Lock::try_exclusive(&path).expect("lock").is_none());
        drop(shared);
        let alone = Lock::try_exclusive(&path).expect("lock").expect("free");
        assert!(Lock::try_shared(&path).expect("lock").is_none());
        drop(alone);
    }

    #[test]
    fn a_touch_notes_a_use_that_is_not_a_minute_old() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("mark");
        let now = std::time::SystemTime::now();
        let ago = |seconds| now - std::time::Duration::from_secs(seconds);
        std::fs::write(&path, "").expect("write");
        for (before, is_noted) in [(ago(3600), true), (ago(20), false)] {
            File::options().write(true).open(&path).expect("open").set_modified(before).expect("set");
            touch(&path);
            let after = path.metadata().expect("metadata").modified().expect("time");
            assert_eq!(after > before + std::time::Duration::from_secs(1), is_noted);
        }
        touch(&dir.path().join("absent"));
    }

    #[test]
    fn atomic_write_replaces_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("a/b");
        write_atomic(&path, b"1").expect("first");
        write_atomic(&path, b"22").expect("second");
        assert_eq!(std::fs::read(&path).expect("read"), b"22");
        assert_eq!(std::fs::read_dir(dir.path().join("a")).expect("list").count(), 1);
    }
}
