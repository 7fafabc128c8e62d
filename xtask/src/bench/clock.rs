//! The clock: a whole process from just before it is started until it has ended.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::failure::Failure;
use crate::tool;

/// A program that has run.
pub(crate) struct Ran {
    pub(crate) seconds: f64,
    pub(crate) stdout: String,
}

/// Runs `command` without stdin and expects success.
///
/// What it says goes to files, not pipes: a daemon it leaves behind may keep them open, and nobody waits for that.
pub(crate) fn timed(command: &mut Command) -> Result<Ran, Failure> {
    let (mut stdout, mut stderr) = (unnamed_file()?, unnamed_file()?);
    command.stdin(Stdio::null()).stdout(handle(&stdout)?).stderr(handle(&stderr)?);
    let start = Instant::now();
    let status = command.status().map_err(|source| tool::start_failure(command, source))?;
    let seconds = start.elapsed().as_secs_f64();
    let said = read(&mut stdout);
    if !status.success() {
        let said = [said, read(&mut stderr)].concat();
        return Err(tool::failed(command, &status.to_string(), &said));
    }
    Ok(Ran { seconds, stdout: String::from_utf8_lossy(&said).into_owned() })
}

/// Like [`timed`], for preparations and cleaning up: the time is of no interest.
pub(crate) fn quiet(command: &mut Command) -> Result<String, Failure> {
    timed(command).map(|ran| ran.stdout)
}

/// Removes what may not be there: failures are of no interest either.
pub(crate) fn attempt(command: &mut Command) {
    let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn unnamed_file() -> Result<File, Failure> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path: PathBuf = std::env::temp_dir().join(format!(".xtask-{}-{number}", std::process::id()));
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(&path).map_err(Failure::file(&path))?;
    std::fs::remove_file(&path).map_err(Failure::file(&path))?;
    Ok(file)
}

fn handle(file: &File) -> Result<Stdio, Failure> {
    file.try_clone().map(Stdio::from).map_err(|source| Failure::Start { program: "dup".to_owned(), source })
}

/// What was written to `file`; the offset is shared with the writer, so it goes back first.
fn read(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
    bytes
}
