//! Running programs and talking to the terminal.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Prints a line for people, to stderr.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints a result, to stdout.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Runs `command` with our terminal and expects success.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|source| start_failure(command, source))?;
    if status.success() { Ok(()) } else { Err(failed(command, &status.to_string(), &[])) }
}

/// Runs `command` quietly, expects success and returns its stdout. A failure shows the last lines it said.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command.stdin(Stdio::null()).output().map_err(|source| start_failure(command, source))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    Err(failed(command, &output.status.to_string(), &said))
}

/// The failure of `command` after it started.
pub(crate) fn failed(command: &Command, status: &str, said: &[u8]) -> Failure {
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said.lines().collect();
    let tail = lines[lines.len().saturating_sub(20)..].join("\n");
    Failure::Command { command: shown(command), status: status.to_owned(), output: tail }
}

/// The failure of `command` to start.
pub(crate) fn start_failure(command: &Command, source: std::io::Error) -> Failure {
    Failure::Start { program: command.get_program().to_string_lossy().into_owned(), source }
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Where `program` is on PATH, the administrator's folders included.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin", "/usr/local/sbin"]);
    folders.map(|folder| Path::new(folder).join(program)).find(|file| is_executable(file))
}

/// Whether `file` is an executable file.
pub(crate) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
