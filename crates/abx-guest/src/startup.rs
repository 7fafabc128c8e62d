//! The startup command: run at boot, its output logged, its end remembered.

use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use abx_protocol::boot::LogLine;
use abx_protocol::json::Timestamp;
use abx_protocol::private::{Startup, StartupState};
use abx_protocol::process::{DataEvent, Event, Output, ProcessConfig};
use abx_protocol::signal::Exit;

use crate::guest::Guest;
use crate::process::{Launch, launch};
use crate::tail::Tail;

/// The tag its process has, so that callers can connect to it.
const TAG: &str = "startup";
/// A line longer than this is logged in pieces.
const MAX_LINE: usize = 16 << 10;

/// What is known of the startup command.
pub(crate) struct StartupLog {
    state: RefCell<Startup>,
    tail: RefCell<Tail>,
    log: Option<File>,
}

impl StartupLog {
    /// With the file its output goes to, if any.
    pub(crate) fn new(log: Option<File>) -> Self {
        Self { state: RefCell::default(), tail: RefCell::default(), log }
    }

    /// Its state and the last of its output.
    pub(crate) fn state(&self) -> Startup {
        Startup { tail: self.tail.borrow().text(), ..self.state.borrow().clone() }
    }

    fn begin(&self, pid: Option<u32>) {
        *self.state.borrow_mut() = Startup { state: StartupState::Running, pid, ..Startup::default() };
    }

    fn end(&self, status: u8) {
        let mut state = self.state.borrow_mut();
        state.state = StartupState::Exited;
        state.exit_code = Some(status);
    }

    fn write(&self, stream: &str, line: &[u8]) {
        let Some(mut log) = self.log.as_ref() else { return };
        let line = LogLine {
            time: now().to_rfc3339(3),
            stream: stream.to_owned(),
            line: String::from_utf8_lossy(line).into_owned(),
        };
        let mut text = serde_json::to_vec(&line).expect("strings only");
        text.push(b'\n');
        // One write a line, so that lines of several writers stay whole. A full disk loses the log, not
        // the command.
        let _ = log.write_all(&text);
    }
}

/// Runs the startup command, where there is one, to its end.
pub(crate) async fn run(guest: Rc<Guest>) {
    let Some(startup) = &guest.config.startup_command else { return };
    let log = &guest.startup;
    log.begin(None);
    let user = match guest.user(None) {
        Ok(user) => user,
        Err(error) => return fail(log, &error.to_string(), 126),
    };
    let spec = Launch {
        config: ProcessConfig {
            cmd: guest.shell().to_owned(),
            args: vec!["-lc".to_owned(), startup.command.clone()],
            ..ProcessConfig::default()
        },
        user,
        pty: None,
        stdin: false,
        tag: Some(TAG.to_owned()),
        deadline: None,
        counts_as_use: false,
    };
    let (process, mut events) = match launch(&guest, spec) {
        Ok(launched) => launched,
        Err(error) => return fail(log, &error.to_string(), error.exit_status().unwrap_or(126)),
    };
    log.begin(Some(process.number()));
    let mut lines = Lines::default();
    while let Some(event) = events.recv().await {
        match event.event {
            Some(Event::Data(DataEvent { output: Some(output) })) => {
                log.tail.borrow_mut().push(output.bytes());
                lines.push(&output, log);
            }
            Some(Event::End(end)) => {
                lines.finish(log);
                log.write("abx", format!("startup command ended: {}", end.status).as_bytes());
                log.end(Exit::parse(&end.status).map_or(1, Exit::shell_status));
            }
            _ => {}
        }
    }
}

fn fail(log: &StartupLog, message: &str, status: u8) {
    log.write("abx", message.as_bytes());
    log.tail.borrow_mut().push(format!("{message}\n").as_bytes());
    log.end(status);
}

/// Puts lines together from pieces cut anywhere, and logs them.
#[derive(Default)]
pub(crate) struct Lines {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Lines {
    /// Logs the lines that are whole by now.
    pub(crate) fn push(&mut self, output: &Output, log: &StartupLog) {
        let (stream, partial) = match output {
            Output::Stdout(_) | Output::Pty(_) => ("stdout", &mut self.stdout),
            Output::Stderr(_) => ("stderr", &mut self.stderr),
        };
        for piece in output.bytes().split_inclusive(|byte| *byte == b'\n') {
            partial.extend_from_slice(piece);
            if partial.ends_with(b"\n") || partial.len() >= MAX_LINE {
                log_line(stream, partial, log);
            }
        }
    }

    /// Logs what is left, though no line break came.
    pub(crate) fn finish(&mut self, log: &StartupLog) {
        log_line("stdout", &mut self.stdout, log);
        log_line("stderr", &mut self.stderr, log);
    }
}

fn log_line(stream: &str, partial: &mut Vec<u8>, log: &StartupLog) {
    if !partial.is_empty() {
        log.write(stream, partial.strip_suffix(b"\n").unwrap_or(partial));
        partial.clear();
    }
}

fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Milliseconds are enough, and fewer digits read better.
    let nanos = elapsed.subsec_millis() * 1_000_000;
    Timestamp { seconds: elapsed.as_secs().cast_signed(), nanos: nanos.cast_signed() }
}
