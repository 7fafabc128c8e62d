//! The caller's terminal: its size, and raw mode that is left again whatever happens.

use std::io::{self, IsTerminal};
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

/// The size of the terminal on stdout, else on stdin, else 80 × 24.
pub(crate) fn size() -> Size {
    [tcgetwinsize(io::stdout()), tcgetwinsize(io::stdin())]
        .into_iter()
        .flatten()
        .map(|size| Size { columns: size.ws_col, rows: size.ws_row })
        .find(|size| size.columns > 0 && size.rows > 0)
        .unwrap_or(FALLBACK)
}

/// The settings to go back to, while the terminal is raw.
static COOKED: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal on stdin passes every key on as it is, Ctrl-C included, until this is dropped. A panic
/// restores it too, also where panics abort; signals are for the holder to catch.
#[derive(Debug)]
pub(crate) struct RawMode {
    _private: (),
}

impl RawMode {
    /// Makes the terminal raw.
    ///
    /// # Errors
    /// Where stdin is no terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        let cooked = tcgetattr(io::stdin())?;
        let mut raw = cooked.clone();
        raw.make_raw();
        *COOKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(cooked);
        restore_on_panic();
        let guard = Self { _private: () };
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(guard)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    if let Some(cooked) = COOKED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &cooked);
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
