use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use agent_sandbox::Status;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Edge;
use crate::EdgeError;
use crate::Failure;
use crate::cli::LogsArgs;

/// Between two looks at a log that is followed.
const PAUSE: Duration = Duration::from_millis(200);

/// A line of the log.
#[derive(Debug, Deserialize, Serialize)]
struct Line {
    /// RFC 3339.
    time: String,
    stream: String,
    line: String,
}

/// Shows the log, and under `-f` what comes to it until the sandbox is gone.
pub(super) async fn logs(edge: &Edge, args: &LogsArgs) -> Result<u8, Failure> {
    let (id, path) = agent_sandbox::sandbox::log(&edge.context, &args.id)?;
    let mut log = Log::open(&path)?;
    if edge.printer.json() {
        let lines = log.rest()?;
        edge.printer.result(&json!({ "id": id, "lines": lines }), "")?;
        return Ok(0);
    }
    loop {
        // Looked at before the read: what was written up to the end is shown.
        let grows = grows(edge, &id);
        let lines = log.rest()?;
        edge.printer.raw(&text(&lines, edge.printer.verbose() > 0))?;
        if !args.follow || !grows {
            return Ok(0);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether anything may still come to the log.
fn grows(edge: &Edge, id: &str) -> bool {
    let status = agent_sandbox::find(&edge.context, id).map(|sandbox| sandbox.info().status);
    status.is_ok_and(|status| status != Status::Stopped)
}

fn text(lines: &[Line], verbose: bool) -> String {
    let show = |line: &Line| match verbose {
        true => format!("{} {}: {}\n", line.time, line.stream, line.line),
        false => format!("{}\n", line.line),
    };
    lines.iter().map(show).collect()
}

/// A log that is read as it grows.
struct Log {
    /// `None` where there is no log (yet).
    reader: Option<BufReader<File>>,
    path: std::path::PathBuf,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
}

impl Log {
    fn open(path: &Path) -> Result<Self, EdgeError> {
        let mut log = Self { reader: None, path: path.to_owned(), partial: Vec::new() };
        log.reopen()?;
        Ok(log)
    }

    fn reopen(&mut self) -> Result<(), EdgeError> {
        match File::open(&self.path) {
            Ok(file) => self.reader = Some(BufReader::new(file)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(EdgeError::Read { path: self.path.clone(), source }),
        }
        Ok(())
    }

    /// The whole lines that have come since the last call.
    fn rest(&mut self) -> Result<Vec<Line>, EdgeError> {
        if self.reader.is_none() {
            self.reopen()?;
        }
        let Some(reader) = &mut self.reader else { return Ok(Vec::new()) };
        let failed = |source| EdgeError::Read { path: self.path.clone(), source };
        skip_hole(reader).map_err(failed)?;
        let mut lines = Vec::new();
        loop {
            reader.read_until(b'\n', &mut self.partial).map_err(failed)?;
            if self.partial.last() != Some(&b'\n') {
                return Ok(lines);
            }
            // A line that is not ours would be the sandbox's own doing; there is nothing to show of it.
            lines.extend(serde_json::from_slice::<Line>(&self.partial).ok());
            self.partial.clear();
        }
    }
}

/// Of a long log the beginning is gone: a hole is there in its place. The piece of a line that follows it is no
/// line of ours.
fn skip_hole(reader: &mut BufReader<File>) -> std::io::Result<()> {
    let position = reader.stream_position()?;
    match rustix::fs::seek(reader.get_ref(), rustix::fs::SeekFrom::Data(position)) {
        Ok(data) => reader.seek(SeekFrom::Start(data)).map(drop),
        // Nothing behind `position`, or a file system that knows of no holes.
        Err(_) => reader.seek(SeekFrom::Start(position)).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_is_read_line_by_line_as_it_grows() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("log.jsonl");
        let mut log = Log::open(&path).expect("no log yet");
        assert!(log.rest().expect("nothing").is_empty());
        let mut file = File::create(&path).expect("create");
        let line = r#"{"time":"2026-01-01T00:00:00.000Z","stream":"stdout","line":"hello"}"#;
        write!(file, "{line}\nnonsense\n{}", &line[..20]).expect("write");
        assert_eq!(text(&log.rest().expect("one"), false), "hello\n");
        writeln!(file, "{}", &line[20..]).expect("write");
        assert_eq!(text(&log.rest().expect("another"), true), "2026-01-01T00:00:00.000Z stdout: hello\n");
    }

    #[test]
    fn the_beginning_that_is_gone_is_passed_over() {
        use rustix::fs::{FallocateFlags, fallocate};
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("log.jsonl");
        let line = r#"{"time":"2026-01-01T00:00:00.000Z","stream":"stdout","line":"hello"}"#;
        let mut file = File::create(&path).expect("create");
        file.write_all(format!("{line}\n").repeat(4096).as_bytes()).expect("write");
        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&file, punch, 0, 128 << 10).expect("punch");
        let lines = Log::open(&path).expect("open").rest().expect("lines");
        let left = (4096 * (line.len() + 1) - (128 << 10)) / (line.len() + 1);
        assert_eq!(lines.len(), left);
    }
}
