//! What a name in a directory is now.

use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;

use super::LayerFault;

/// What lies under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Nothing,
    Directory,
    Whiteout,
    /// Anything else, with what tells it from other files.
    Other {
        device: u64,
        inode: u64,
    },
}

impl Node {
    /// Looks without following a link.
    pub(super) fn at(parent: BorrowedFd<'_>, name: &[u8]) -> Result<Self, LayerFault> {
        match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Self::of(&stat)),
            Err(Errno::NOENT) => Ok(Self::Nothing),
            Err(error) => Err(LayerFault::make(error)),
        }
    }

    fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Self::Directory,
            FileType::CharacterDevice if stat.st_rdev == 0 => Self::Whiteout,
            _ => Self::Other { device: stat.st_dev, inode: stat.st_ino },
        }
    }
}
