//! A real terminal on both sides.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Child;

use crate::support::Abx;
use crate::support::sandbox::Sandbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

#[test]
fn size_and_keys_reach_the_command() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut terminal = Terminal::run(&abx, &["exec", "-it", "web", "--", "sh"]);
    terminal.send("stty size; tty; echo $TERM\n");
    terminal.expect("37 91");
    terminal.expect("/dev/pts/");
    terminal.expect("vt220");
    // Ctrl-C ends the command, not abx. What the command itself prints says that it is in the foreground.
    terminal.send("sh -c 'echo begun; exec sleep 60'\n");
    terminal.expect("begun\r\n");
    terminal.send("\u{3}");
    terminal.send("echo $((40 + 2))\n");
    terminal.expect("42");
    assert!(terminal.is_raw());
    terminal.send("exit 9\n");
    assert_eq!(terminal.wait(), Some(9));
    assert!(!terminal.is_raw());
}

#[test]
fn resizes_reach_the_command_and_ctrl_c_ends_it() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let script = "trap 'stty size' WINCH; echo trapped; while :; do sleep 0.05; done";
    let mut terminal = Terminal::run(&abx, &["exec", "web", "-t", "-i", "--", "sh", "-c", script]);
    terminal.expect("trapped");
    for (rows, columns) in [(50, 120), (10, 20)] {
        terminal.resize(rows, columns);
        terminal.expect(&format!("{rows} {columns}"));
    }
    terminal.send("\u{3}");
    assert_eq!(terminal.wait(), Some(130));
    assert!(!terminal.is_raw());
}

#[test]
fn connect_opens_the_templates_shell() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut terminal = Terminal::run(&abx, &["connect", "web"]);
    terminal.send("stty size; echo in $PWD\n");
    terminal.expect("37 91");
    terminal.expect("/work");
    assert_eq!(terminal.end_of_input(), Some(0));
    assert!(!terminal.is_raw());
}

#[test]
fn the_terminal_is_restored_after_a_signal_and_after_an_error() {
    let abx = Abx::new();
    let Some(_web) = Sandbox::start(&abx) else { return };
    let mut terminal = Terminal::run(&abx, &["exec", "-it", "web", "--", "cat"]);
    terminal.send("here\n");
    terminal.expect("here");
    assert!(terminal.is_raw());
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.wait(), Some(143));
    assert!(!terminal.is_raw());

    let mut terminal = Terminal::start(&abx, &["exec", "-it", "web", "--", "no-such-program"]);
    assert_eq!(terminal.wait(), Some(127));
    assert!(!terminal.is_raw());
}

#[test]
fn the_terminal_is_restored_when_the_sandbox_goes_away() {
    let abx = Abx::new();
    let Some(web) = Sandbox::start(&abx) else { return };
    let mut terminal = Terminal::run(&abx, &["exec", "-it", "web", "--", "cat"]);
    terminal.send("here\n");
    terminal.expect("here");
    drop(web);
    assert_eq!(terminal.wait(), Some(137));
    assert!(!terminal.is_raw());
    terminal.expect("E5001");
}

/// How long a text that never comes is awaited before the test fails.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// A terminal of 37 rows and 91 columns with `abx` in its foreground.
struct Terminal {
    main: File,
    /// Kept open: it is what tells whether the terminal was restored.
    other: OwnedFd,
    child: Child,
    seen: String,
}

impl Terminal {
    /// Starts `abx` and waits until it has made the terminal raw: keys pressed before that would be shown by
    /// the terminal itself.
    fn run(abx: &Abx, words: &[&str]) -> Self {
        let mut terminal = Self::start(abx, words);
        while !terminal.is_raw() {
            let ended = terminal.child.try_wait().expect("wait");
            assert!(ended.is_none(), "{ended:?}: {}", terminal.rest());
            std::thread::yield_now();
        }
        terminal
    }

    fn start(abx: &Abx, words: &[&str]) -> Self {
        let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("openpt");
        grantpt(&main).expect("grantpt");
        unlockpt(&main).expect("unlockpt");
        let name = ptsname(&main, Vec::new()).expect("ptsname");
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let other = rustix::fs::open(&name, flags, rustix::fs::Mode::empty()).expect("open");
        resize(&main, 37, 91);
        let mut command = abx.command(words);
        let end = || other.try_clone().expect("dup");
        command.env("TERM", "vt220").stdin(end()).stdout(end()).stderr(end());
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                Ok(rustix::process::ioctl_tiocsctty(std::io::stdin())?)
            })
        };
        let child = command.spawn().expect("abx runs");
        Self { main: File::from(main), other, child, seen: String::new() }
    }

    fn send(&mut self, keys: &str) {
        std::io::Write::write_all(&mut self.main, keys.as_bytes()).expect("keys");
    }

    /// Presses Ctrl-D until the program has ended; its status. A shell that is busy between two lines takes no notice.
    fn end_of_input(&mut self) -> Option<i32> {
        abx_test::wait_until("the program's end", || {
            let _ = std::io::Write::write_all(&mut self.main, b"\x04");
            self.child.try_wait().expect("wait")
        })
        .code()
    }

    /// Reads on until `text` has been shown, and forgets everything up to it.
    #[track_caller]
    fn expect(&mut self, text: &str) {
        let mut bytes = [0; 4096];
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            let mut ready = [PollFd::new(&self.main, PollFlags::IN)];
            let ready = poll(&mut ready, Some(&PATIENCE)).expect("poll");
            assert!(ready > 0, "no `{text}` in {:?}", self.seen);
            let length = self.main.read(&mut bytes).expect("the terminal's output");
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }

    /// What is there to be read at once.
    fn rest(&mut self) -> String {
        let mut bytes = [0; 4096];
        let length = self.main.read(&mut bytes).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    fn resize(&self, rows: u16, columns: u16) {
        resize(&self.main, rows, columns);
    }

    /// Whether keys pass as they are.
    fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.other).expect("tcgetattr").local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("signalled");
    }

    fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("wait").code()
    }
}

fn resize(terminal: impl std::os::fd::AsFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("resize");
}
