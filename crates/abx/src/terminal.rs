//! The caller's terminal: its size, and raw mode that is left again whatever happens.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// What a process gets where the caller has no terminal, or one that says it has no size.
const FALLBACK: Size = Size { columns: 80, rows: 24 };

/// Whether standard input is a terminal.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether standard output is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether terminals here understand colours and cursor movements, as far as `TERM` tells.
pub(crate) fn understands_escapes() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// The size of the terminal on stdout, else on stdin, else 80 × 24.
pub(crate) fn size() -> Size {
    [tcgetwinsize(io::stdout()), tcgetwinsize(io::stdin())]
        .into_iter()
        .flatten()
        .map(|size| Size { columns: size.ws_col, rows: size.ws_row })
        .find(|size| size.columns > 0 && size.rows > 0)
        .unwrap_or(FALLBACK)
}

/// The terminal and the settings to go back to, while it is raw.
static COOKED: Mutex<Option<(OwnedFd, Termios)>> = Mutex::new(None);

/// A terminal passes every key on as it is, Ctrl-C included, until this is dropped. A panic restores it too,
/// also where panics abort; signals are for the holder to catch. One at a time.
#[derive(Debug)]
pub(crate) struct RawMode {
    _private: (),
}

impl RawMode {
    /// Makes the terminal raw.
    ///
    /// # Errors
    /// Where it is no terminal.
    pub(crate) fn enter(terminal: impl AsFd) -> io::Result<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let cooked = tcgetattr(&terminal)?;
        let mut raw = cooked.clone();
        raw.make_raw();
        restore_on_panic();
        tcsetattr(&terminal, OptionalActions::Now, &raw)?;
        *COOKED.lock().unwrap_or_else(PoisonError::into_inner) = Some((terminal, cooked));
        Ok(Self { _private: () })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    if let Some((terminal, cooked)) = COOKED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(&terminal, OptionalActions::Now, &cooked);
    }
}

fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            previous(info);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;

    /// Both ends of a new terminal.
    fn terminal() -> (OwnedFd, OwnedFd) {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("openpt");
        grantpt(&main).expect("grantpt");
        unlockpt(&main).expect("unlockpt");
        let name = ptsname(&main, Vec::new()).expect("ptsname");
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let other = rustix::fs::open(&name, flags, rustix::fs::Mode::empty()).expect("open");
        (main, other)
    }

    fn is_raw(terminal: &OwnedFd) -> bool {
        let modes = tcgetattr(terminal).expect("tcgetattr").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    // One test, because there is one terminal to restore in a process.
    #[test]
    fn a_raw_terminal_is_restored_by_drop_and_by_panic() {
        let (_main, terminal) = terminal();
        assert!(!is_raw(&terminal));

        let raw = RawMode::enter(&terminal).expect("raw");
        assert!(is_raw(&terminal));
        drop(raw);
        assert!(!is_raw(&terminal));

        let inside = terminal.try_clone().expect("dup");
        let thread = std::thread::spawn(move || {
            // Nothing is dropped where a panic aborts.
            std::mem::forget(RawMode::enter(&inside).expect("raw"));
            assert!(!is_raw(&inside), "on purpose");
        });
        assert!(thread.join().is_err());
        assert!(!is_raw(&terminal));

        let (reader, _writer) = rustix::pipe::pipe().expect("pipe");
        assert!(RawMode::enter(&reader).is_err());
    }
}
