//! `~/.abx` on disk.
//!
//! ```text
//! ~/.abx/                0700 where we make it
//!   config.toml          settings; may be a link (to a folder of dotfiles, say), which is followed
//!   .env                 secrets, 0600; never a link
//! ```
//!
//! A file is replaced whole: written beside its place, then renamed. Writers wait for each other.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::fs::{FlockOperation, fchmod, fchown, flock, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::SettingsError;

/// Its name in the user's home.
pub(crate) const NAME: &str = ".abx";
/// The file of settings.
pub(crate) const CONFIG: &str = "config.toml";
/// The file of secrets.
pub(crate) const SECRETS: &str = ".env";

/// A file of secrets has no reason to be larger.
const SECRETS_CAP: u64 = 64 << 10;
/// What nobody else may do.
const OTHERS: u32 = 0o077;

/// The folder, open.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    directory: OwnedFd,
}

impl Folder {
    /// Opens the folder of a home; `None` where there is none.
    pub(crate) fn open(home: &Path) -> Result<Option<Self>, SettingsError> {
        let path = home.join(NAME);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(SettingsError::Foreign { path }),
            Err(error) => return Err(SettingsError::io("open", &path)(error.into())),
        };
        Ok(Some(Self { path, directory }))
    }

    /// Opens the folder of a home in order to write there; makes it where there is none.
    ///
    /// # Errors
    /// It belongs to somebody else.
    pub(crate) fn make(home: &Path) -> Result<Self, SettingsError> {
        let path = home.join(NAME);
        match rustix::fs::mkdir(&path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(SettingsError::io("make", &path)(error.into())),
        }
        let folder = Self::open(home)?.ok_or_else(|| SettingsError::Foreign { path: path.clone() })?;
        let owner = folder.owner()?;
        let of_home =
            rustix::fs::stat(home).map_err(|error| SettingsError::io("read", home)(error.into()))?;
        // Root may act in the home of another, whose folder it then is.
        if owner.st_uid != rustix::process::geteuid().as_raw() && owner.st_uid != of_home.st_uid {
            return Err(SettingsError::Foreign { path });
        }
        if owner.st_uid != of_home.st_uid && rustix::process::geteuid().is_root() {
            let _ = fchown(
                &folder.directory,
                Some(Uid::from_raw(of_home.st_uid)),
                Some(Gid::from_raw(of_home.st_gid)),
            );
        }
        Ok(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Waits until no other writer is at work; until the folder is dropped.
    pub(crate) fn lock(&self) -> Result<(), SettingsError> {
        let taken = rustix::io::retry_on_intr(|| flock(&self.directory, FlockOperation::LockExclusive));
        taken.map_err(|error| SettingsError::io("lock", &self.path)(error.into()))
    }

    /// The text of the file of secrets; empty where there is none.
    ///
    /// # Errors
    /// It is a link, or no text.
    pub(crate) fn secrets(&self) -> Result<String, SettingsError> {
        let Some(file) = self.open_secrets()? else { return Ok(String::new()) };
        let path = self.path(SECRETS);
        let mut text = String::new();
        match file.take(SECRETS_CAP).read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(SettingsError::NotText { path }),
            Err(error) => Err(SettingsError::io("read", &path)(error)),
        }
    }

    fn open_secrets(&self) -> Result<Option<File>, SettingsError> {
        let path = self.path(SECRETS);
        // Without O_NONBLOCK a FIFO would hang us.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.directory, SECRETS, flags, Mode::empty()) {
            Ok(file) => {
                let about = stat(&file, &path)?;
                match FileType::from_raw_mode(about.st_mode) {
                    FileType::RegularFile => Ok(Some(File::from(file))),
                    _ => Err(SettingsError::io("read", &path)(io::ErrorKind::InvalidInput.into())),
                }
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP) => Err(SettingsError::Link { path }),
            Err(error) => Err(SettingsError::io("read", &path)(error.into())),
        }
    }

    /// Keeps others out of the secrets, where there are some and others are let in. Says what it did.
    pub(crate) fn tighten(&self) -> Result<Vec<String>, SettingsError> {
        let Some(file) = self.open_secrets()? else { return Ok(Vec::new()) };
        let mut notes = Vec::new();
        let mut close = |file: &dyn AsFd, path: PathBuf, mode: Mode| -> Result<(), SettingsError> {
            let old = stat(file, &path)?.st_mode & 0o777;
            if old & OTHERS != 0 {
                fchmod(file.as_fd(), mode)
                    .map_err(|error| SettingsError::io("close to others", &path)(error.into()))?;
                notes.push(format!(
                    "{} was open to others (mode {old:04o}): it is {:04o} now",
                    path.display(),
                    mode.as_raw_mode()
                ));
            }
            Ok(())
        };
        close(&self.directory, self.path.clone(), Mode::RWXU)?;
        close(&file, self.path(SECRETS), Mode::RUSR | Mode::WUSR)?;
        Ok(notes)
    }

    /// Replaces the file of secrets.
    pub(crate) fn write_secrets(&self, text: &str) -> Result<(), SettingsError> {
        // A link is refused rather than replaced: somebody meant something by it.
        self.open_secrets()?;
        self.replace(SECRETS, text.as_bytes(), Mode::RUSR | Mode::WUSR)
    }

    /// Replaces the file of settings, or the file that it is a link to.
    pub(crate) fn write_config(&self, text: &str) -> Result<(), SettingsError> {
        let path = self.path(CONFIG);
        let readable = Mode::from_raw_mode(0o644);
        let mode = match statat(&self.directory, CONFIG, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(about) if FileType::from_raw_mode(about.st_mode) == FileType::Symlink => {
                if about.st_uid != self.owner()?.st_uid {
                    return Err(SettingsError::Link { path });
                }
                let target = path.canonicalize().map_err(SettingsError::io("follow", &path))?;
                return abx_core::fs::write_atomic(&target, text.as_bytes())
                    .map_err(SettingsError::io("write", &target));
            }
            Ok(about) => Mode::from_raw_mode(about.st_mode & 0o777),
            Err(_) => readable,
        };
        self.replace(CONFIG, text.as_bytes(), mode)
    }

    fn replace(&self, name: &str, bytes: &[u8], mode: Mode) -> Result<(), SettingsError> {
        let path = self.path(name);
        let failed = |error: io::Error| SettingsError::io("write", &path)(error);
        // Writers hold the lock, so what is left there is of one that was killed.
        let beside = format!("{name}.new");
        let _ = unlinkat(&self.directory, beside.as_str(), AtFlags::empty());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.directory, beside.as_str(), flags, Mode::RUSR | Mode::WUSR);
        let mut file = File::from(file.map_err(|error| failed(error.into()))?);
        let written = file.write_all(bytes).and_then(|()| {
            let owner = fstat(&self.directory)?;
            if rustix::process::geteuid().is_root() && owner.st_uid != 0 {
                fchown(&file, Some(Uid::from_raw(owner.st_uid)), Some(Gid::from_raw(owner.st_gid)))?;
            }
            fchmod(&file, mode)?;
            file.sync_all()?;
            Ok(renameat(&self.directory, beside.as_str(), &self.directory, name)?)
        });
        written.map_err(|error| {
            let _ = unlinkat(&self.directory, beside.as_str(), AtFlags::empty());
            failed(error)
        })
    }

    fn owner(&self) -> Result<Stat, SettingsError> {
        stat(&self.directory, &self.path)
    }
}

fn stat(file: impl AsFd, path: &Path) -> Result<Stat, SettingsError> {
    fstat(file).map_err(|error| SettingsError::io("read", path)(error.into()))
}
