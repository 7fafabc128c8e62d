//! A command run to its end, within a limit.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest a command may take: the first build of a base on a busy machine.
const LIMIT: Duration = Duration::from_secs(400);

/// The longest what was started may hold on to the output of a command that has ended.
const HELD: Duration = Duration::from_secs(10);

/// How a command ended and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// `None` where a signal ended it.
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Its stdout; it must have succeeded.
    #[track_caller]
    pub fn success(self) -> String {
        assert_eq!(self.status, Some(0), "{self:#?}");
        self.stdout
    }

    /// The one JSON value on stdout.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The one JSON object on stderr, with nothing on stdout.
    #[track_caller]
    pub fn error_object(&self) -> serde_json::Value {
        assert_eq!(self.stdout, "", "{self:#?}");
        serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// It must have failed with this status, a line that begins with this error code, and nothing on stdout.
    /// Returns what it wrote to stderr.
    #[track_caller]
    pub fn failure(self, status: i32, code: &str) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (Some(status), ""), "{self:#?}");
        let begin = format!("error[{code}]: ");
        assert!(self.stderr.lines().any(|line| line.starts_with(&begin)), "no {code}: {self:#?}");
        self.stderr
    }
}

/// Runs the command to its end.
///
/// # Panics
/// It does not start, does not end, leaves somebody behind who holds its output open, or writes what is no text.
#[track_caller]
pub fn run(mut command: Command) -> Ran {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{error}: {command:?}"));
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    let status = wait(&mut child, &command);
    let text = |bytes: Receiver<Vec<u8>>| {
        let bytes = bytes.recv_timeout(HELD).expect("somebody holds the output of a command that has ended");
        String::from_utf8(bytes).expect("text")
    };
    Ran { status, stdout: text(stdout), stderr: text(stderr) }
}

#[track_caller]
fn wait(child: &mut Child, command: &Command) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("wait") {
            return status.code();
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            panic!("still running after {LIMIT:?}: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    receive
}

/// Says why a test does not run. Not by the macros, whose words a passing test keeps to itself.
pub fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Looks again and again until there is something to be seen.
///
/// # Panics
/// It does not come within two minutes, which is for a busy machine.
#[track_caller]
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "still not: {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// Writes a file that is to be executed. Another process writes it: a descriptor of ours would be shared with whatever
/// other tests fork at that moment, and a file that is open for writing cannot be executed.
pub fn write_program(file: &Path, content: &[u8]) {
    let write = r#"cat > "$0" && chmod 755 "$0""#;
    let mut command = Command::new("sh");
    let mut child = command.arg("-c").arg(write).arg(file).stdin(Stdio::piped()).spawn().expect("sh");
    child.stdin.take().expect("piped").write_all(content).expect("write");
    assert!(child.wait().expect("wait").success(), "cannot write {}", file.display());
}

/// Copies a file that is to be executed, as [`write_program`] writes one.
pub fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().expect("cp");
    assert!(status.success(), "cannot copy {}", from.display());
}
