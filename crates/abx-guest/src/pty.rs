//! Terminals.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use abx_protocol::process::PtySize;
use rustix::fs::{Gid, Mode, Uid, fchmod, fchown};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::users::User;

/// A terminal without a size breaks every full-screen program; this is what one without a wish gets.
const DEFAULT_SIZE: PtySize = PtySize { cols: 80, rows: 24 };

/// A new terminal of that size which belongs to `user`: our end and theirs.
pub(crate) fn open(size: PtySize, user: &User) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    // The owner matters to programs that open /dev/tty's real name again; where we are not root it is
    // ours already.
    let _ = fchown(&theirs, Some(Uid::from_raw(user.uid)), Some(Gid::from_raw(user.gid)));
    let _ = fchmod(&theirs, Mode::from_raw_mode(0o620));
    resize(&ours, size)?;
    Ok((ours, theirs))
}

/// Tells the terminal and, through SIGWINCH, what runs in its foreground.
pub(crate) fn resize(terminal: impl AsFd, size: PtySize) -> io::Result<()> {
    let or = |wanted: u32, default: u32| {
        u16::try_from(if wanted == 0 { default } else { wanted }).unwrap_or(u16::MAX)
    };
    let size = Winsize {
        ws_row: or(size.rows, DEFAULT_SIZE.rows),
        ws_col: or(size.cols, DEFAULT_SIZE.cols),
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    Ok(tcsetwinsize(terminal, size)?)
}
