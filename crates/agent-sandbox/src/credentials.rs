//! Log-ins for registries: docker's and podman's files, and the helpers those name.
//!
//! Nothing is read or started before a registry asks for a log-in. What a helper prints, and what a file holds,
//! is never shown.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use abx_image::registry::docker_config::{DockerConfig, Found, helper_answer, is_helper_name};
use abx_image::{CredentialSource, Credentials, ImageError};
use rustix::process::{Pid, Signal, kill_process_group};

/// A file of log-ins has no reason to be larger, nor has a helper's answer.
const FILE_CAP: u64 = 1 << 20;

/// A helper may ask its user for a password.
const PATIENCE: Duration = Duration::from_secs(60);

/// What helpers print for a registry they do not know.
const NOT_FOUND: &str = "credentials not found";

/// Files that may know log-ins, most important first. They need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialFiles {
    pub paths: Vec<PathBuf>,
    /// How long a helper may take.
    pub patience: Duration,
}

impl Default for CredentialFiles {
    fn default() -> Self {
        Self { paths: Vec::new(), patience: PATIENCE }
    }
}

impl CredentialFiles {
    /// Docker's configuration, then podman's, as the environment says where they are.
    pub(crate) fn discover(home: Option<&Path>, var: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let docker = var("DOCKER_CONFIG").or_else(|| Some(home?.join(".docker")));
        let docker = docker.map(|folder| folder.join("config.json"));
        let runtime = var("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json"));
        let user = rustix::process::getuid().as_raw();
        let system = Some(PathBuf::from(format!("/run/containers/{user}/auth.json")));
        let paths = [docker, var("REGISTRY_AUTH_FILE"), runtime, system];
        Self { paths: paths.into_iter().flatten().collect(), ..Self::default() }
    }
}

impl CredentialSource for CredentialFiles {
    fn find(&self, registry: &str, repository: &str) -> Result<Option<Credentials>, ImageError> {
        let mut failed = None;
        for path in &self.paths {
            let unusable = |reason| ImageError::CredentialFile { path: path.clone(), reason };
            let Some(text) = read(path).map_err(|error| unusable(error.to_string()))? else { continue };
            let config = DockerConfig::parse(&text).map_err(unusable)?;
            for found in config.find(registry, repository).map_err(unusable)? {
                match found {
                    Found::Credentials(credentials) => return Ok(Some(credentials)),
                    Found::Helper { name, server } => match self.ask(&name, &server) {
                        Ok(Some(credentials)) => return Ok(Some(credentials)),
                        Ok(None) => {}
                        // Another one may know better.
                        Err(error) => failed = failed.or(Some(error)),
                    },
                }
            }
        }
        failed.map_or(Ok(None), Err)
    }
}

impl CredentialFiles {
    /// Asks `docker-credential-<helper>` for a registry's log-in.
    fn ask(&self, helper: &str, server: &str) -> Result<Option<Credentials>, ImageError> {
        let failed = |reason| {
            let (helper, registry) = (helper.to_owned(), server.to_owned());
            ImageError::CredentialHelper { helper, registry, reason }
        };
        if !is_helper_name(helper) {
            return Err(failed("its name is malformed"));
        }
        let program = format!("docker-credential-{helper}");
        let (status, output) = run(&program, server, self.patience).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => failed("it is not installed"),
            io::ErrorKind::TimedOut => failed("it takes too long"),
            _ => failed("it cannot be run"),
        })?;
        judge(status, &output).map_err(failed)
    }
}

/// What a helper that has ended says.
fn judge(status: ExitStatus, output: &[u8]) -> Result<Option<Credentials>, &'static str> {
    if !status.success() {
        let is_unknown = String::from_utf8_lossy(output).to_lowercase().contains(NOT_FOUND);
        return if is_unknown { Ok(None) } else { Err("it failed") };
    }
    helper_answer(output).map(Some).ok_or("its answer is no log-in")
}

/// The text of a file that may be absent.
fn read(path: &Path) -> io::Result<Option<String>> {
    let mut options = File::options();
    options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = match options.open(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_CAP + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_CAP {
        return Err(io::Error::other("it is too large"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| io::Error::other("it is no UTF-8 text"))
}

/// Runs a helper to its end, or ends it and all it has started.
fn run(program: &str, server: &str, patience: Duration) -> io::Result<(ExitStatus, Vec<u8>)> {
    let deadline = Instant::now() + patience;
    let mut command = Command::new(program);
    command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    let outcome = converse(&mut child, server, deadline);
    if outcome.is_err() {
        let group = Pid::from_child(&child);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
    outcome
}

fn converse(child: &mut Child, server: &str, deadline: Instant) -> io::Result<(ExitStatus, Vec<u8>)> {
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not listen may still know.
        let _ = stdin.write_all(server.as_bytes());
    }
    let Some(stdout) = child.stdout.take() else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let (sender, receiver) = channel();
    // Apart, since no read can be told to end in time.
    std::thread::spawn(move || {
        let mut output = Vec::new();
        let read = stdout.take(FILE_CAP).read_to_end(&mut output);
        let _ = sender.send(read.map(|_| output));
    });
    let left = deadline.saturating_duration_since(Instant::now());
    let output = receiver.recv_timeout(left).map_err(|_| io::ErrorKind::TimedOut)??;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, output));
        }
        if Instant::now() >= deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests;
