//! A terminal, seen from the side of the one who sits before it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// The longest the program may say nothing of what is expected.
const PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// A terminal with a program in its foreground, which ends with it.
#[derive(Debug)]
pub struct Terminal {
    main: File,
    /// Kept open: it tells in which state the program left the terminal.
    other: OwnedFd,
    child: Child,
    seen: String,
}

impl Terminal {
    /// Starts the command in a new terminal of this many rows and columns, which is its controlling one.
    pub fn start(mut command: Command, rows: u16, columns: u16) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("openpt");
        grantpt(&main).expect("grantpt");
        unlockpt(&main).expect("unlockpt");
        let name = ptsname(&main, Vec::new()).expect("ptsname");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(&name, flags, Mode::empty()).expect("open");
        resize(&main, rows, columns);
        let end = || other.try_clone().expect("dup");
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(rustix::process::ioctl_tiocsctty(std::io::stdin())?)
            })
        };
        let child = command.spawn().expect("it starts");
        Self { main: File::from(main), other, child, seen: String::new() }
    }

    /// Waits until the program has made the terminal raw. Keys pressed before would be shown by the terminal itself.
    #[track_caller]
    pub fn until_raw(&mut self) {
        while !self.is_raw() {
            if let Some(status) = self.child.try_wait().expect("wait") {
                let mut bytes = [0; 4096];
                let length = self.main.read(&mut bytes).unwrap_or(0);
                panic!("{status}: {}", String::from_utf8_lossy(&bytes[..length]));
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// Presses keys.
    pub fn send(&mut self, keys: &str) {
        self.main.write_all(keys.as_bytes()).expect("keys");
    }

    /// Reads on until `text` has been shown, forgets everything up to it, and returns what came before.
    ///
    /// # Panics
    /// It is not shown within 20 seconds, or the program ends before.
    #[track_caller]
    pub fn expect(&mut self, text: &str) -> String {
        let mut bytes = [0; 4096];
        loop {
            if let Some(at) = self.seen.find(text) {
                let before = self.seen[..at].to_owned();
                self.seen.drain(..at + text.len());
                return before;
            }
            assert!(self.has_output(), "no `{text}` in {:?}", self.seen);
            let length = self.main.read(&mut bytes).unwrap_or(0);
            assert!(length > 0, "no `{text}` in {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }

    /// Whether there is something to read, soon.
    fn has_output(&self) -> bool {
        let mut ready = [PollFd::new(&self.main, PollFlags::IN)];
        poll(&mut ready, Some(&PATIENCE)).is_ok_and(|count| count > 0)
    }

    /// Changes its size.
    pub fn resize(&self, rows: u16, columns: u16) {
        resize(&self.main, rows, columns);
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        let program = Pid::from_raw(self.child.id().cast_signed()).expect("a program");
        kill_process(program, signal).expect("kill");
    }

    /// Whether keys pass as they are.
    pub fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.other).expect("tcgetattr").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Presses Ctrl-D until the program has ended; its status. A shell that is busy between two lines takes no notice of it.
    #[track_caller]
    pub fn end_of_input(&mut self) -> Option<i32> {
        crate::wait_until("the program's end", || {
            // Nobody reads any more where it has just ended.
            let _ = self.main.write_all(b"\x04");
            self.child.try_wait().expect("wait")
        })
        .code()
    }

    /// Waits for the program's end; its status.
    #[track_caller]
    pub fn wait(&mut self) -> Option<i32> {
        crate::wait_until("the program's end", || self.child.try_wait().expect("wait")).code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: impl AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("resize");
}
