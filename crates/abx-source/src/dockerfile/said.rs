//! What a Dockerfile says of how to run its image.

use std::time::Duration;

use abx_dockerfile::{Action, Command, Globals, Healthcheck, Instruction, Scope};
use abx_image::Healthcheck as Check;

use super::Dockerfile;
use super::declared::Spot;

/// What the file itself says, the stages of its target together; nothing that comes with the image it begins with.
/// `None` and empty mean that it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// As an image is configured: in shell form with the shell in front. Empty where an inherited one is taken back.
    pub cmd: Option<Vec<String>>,
    pub entrypoint: Option<Vec<String>>,
    /// `80/tcp`.
    pub expose: Vec<String>,
    pub workdir: Option<String>,
    pub user: Option<String>,
    pub healthcheck: Option<Check>,
}

/// Where the file says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spots {
    pub(crate) startup: Spot,
    pub(crate) workdir: Spot,
    pub(crate) user: Spot,
    pub(crate) healthcheck: Spot,
    /// One for each port, as far as they are known.
    pub(crate) ports: Vec<(String, Spot)>,
}

/// Reads it off the file. Values with variables of an image come out only where that is built, and a path relative to
/// an image's own is taken to be one below `/`.
pub(crate) fn said(dockerfile: &Dockerfile) -> (Said, Spots) {
    let mut reading = Reading { shell: shell(), ..Reading::default() };
    let Ok(globals) = Globals::new(&dockerfile.file, &dockerfile.inputs) else {
        return (reading.said, reading.spots);
    };
    let mut scope = Scope::new(&globals, []);
    for number in dockerfile.chain() {
        let Some(stage) = dockerfile.file.stages.get(number) else { continue };
        reading.has_cmd = false;
        for instruction in &stage.instructions {
            // What cannot be expanded is told by the build.
            if let Ok(instruction) = scope.expand(instruction, &dockerfile.file.source) {
                let at = dockerfile.file.source.snippet(instruction.span);
                reading.take(&instruction, Spot { line: at.line, column: at.column });
            }
        }
    }
    (reading.said, reading.spots)
}

fn shell() -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned()]
}

#[derive(Default)]
struct Reading {
    said: Said,
    spots: Spots,
    shell: Vec<String>,
    /// Whether the stage has a `CMD` so far: else its `ENTRYPOINT` takes back an inherited one.
    has_cmd: bool,
}

impl Reading {
    fn take(&mut self, instruction: &Instruction, spot: Spot) {
        match &instruction.action {
            Action::Cmd(command) => {
                self.said.cmd = Some(self.argv(command.as_ref()));
                self.spots.startup = spot;
                self.has_cmd = true;
            }
            Action::Entrypoint(command) => {
                self.said.entrypoint = Some(self.argv(command.as_ref()));
                if !self.has_cmd {
                    self.said.cmd = None;
                }
                self.spots.startup = spot;
            }
            Action::Expose(ports) => {
                for port in ports {
                    if !self.said.expose.contains(&port.text) {
                        self.said.expose.push(port.text.clone());
                        self.spots.ports.push((port.text.clone(), spot));
                    }
                }
            }
            Action::Workdir(path) if !path.text.is_empty() => {
                self.said.workdir = Some(join(self.said.workdir.as_deref().unwrap_or("/"), &path.text));
                self.spots.workdir = spot;
            }
            Action::User(user) => {
                let user = if user.text.is_empty() { "root" } else { &user.text };
                self.said.user = Some(user.to_owned());
                self.spots.user = spot;
            }
            Action::Healthcheck(check) => {
                self.said.healthcheck = Some(healthcheck(check));
                self.spots.healthcheck = spot;
            }
            Action::Shell(shell) => self.shell.clone_from(shell),
            _ => {}
        }
    }

    fn argv(&self, command: Option<&Command>) -> Vec<String> {
        match command {
            None => Vec::new(),
            Some(Command::Exec(argv)) => argv.clone(),
            Some(Command::Shell(line)) => self.shell.iter().cloned().chain([line.clone()]).collect(),
        }
    }
}

/// A `HEALTHCHECK` in the words of an image's configuration.
pub fn healthcheck(check: &Healthcheck) -> Check {
    let Healthcheck::Check(check) = check else {
        return Check { test: vec!["NONE".to_owned()], ..Check::default() };
    };
    let nanoseconds =
        |time: Option<Duration>| time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let test = match &check.command {
        Command::Exec(argv) => std::iter::once("CMD".to_owned()).chain(argv.iter().cloned()).collect(),
        // The runtime puts the image's shell in front.
        Command::Shell(line) => vec!["CMD-SHELL".to_owned(), line.clone()],
    };
    Check {
        test,
        interval: nanoseconds(check.interval),
        timeout: nanoseconds(check.timeout),
        start_period: nanoseconds(check.start_period),
        start_interval: nanoseconds(check.start_interval),
        retries: check.retries.unwrap_or_default().into(),
    }
}

/// A path seen from another, without `.` and `..`.
fn join(from: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{from}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
