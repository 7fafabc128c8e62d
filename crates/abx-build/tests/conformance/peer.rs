//! A build of docker's BuildKit.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::case::{Case, Place};
use crate::config;
use crate::listing::{self, Tree};
use crate::outcome::Outcome;

/// A docker client whose daemon has the image `base`, and what that was made of.
pub(crate) struct Peer {
    docker: PathBuf,
    pub(crate) base: PathBuf,
}

impl Peer {
    pub(crate) fn new(docker: PathBuf, base: PathBuf) -> Self {
        Self { docker, base }
    }

    /// Builds a case, its parent first.
    pub(crate) fn build(&self, case: &Case, place: &Place) -> Outcome {
        if let Some(parent) = &case.parent {
            let file = place.folder.join("Dockerfile.parent");
            std::fs::write(&file, parent).expect("write");
            let output = self.run(self.command(&file, "parent", place));
            assert!(output.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&output.stderr));
        }
        let mut command = self.command(&place.folder.join("Dockerfile"), "made", place);
        command.args(case.target.iter().flat_map(|target| ["--target", target]));
        for (name, value) in &place.args {
            command.args(["--build-arg", &format!("{name}={value}")]);
        }
        for (id, value) in &case.secrets {
            let file = place.folder.join(format!("secret-{id}"));
            std::fs::write(&file, value).expect("write");
            command.arg("--secret").arg(format!("id={id},src={}", file.display()));
        }
        let output = self.run(command);
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Outcome::Refused(said.trim().lines().next_back().unwrap_or_default().to_owned());
        }
        Outcome::Built(self.lines("made", &place.server))
    }

    fn command(&self, file: &Path, tag: &str, place: &Place) -> Command {
        let mut command = Command::new(&self.docker);
        command.args(["build", "--quiet", "--network", "host", "--tag", tag, "--file"]).arg(file);
        command.arg(&place.context);
        command
    }

    fn run(&self, mut command: Command) -> Output {
        command.output().unwrap_or_else(|error| panic!("{}: {error}", self.docker.display()))
    }

    fn lines(&self, image: &str, server: &str) -> Vec<String> {
        let (base, image_said) = (self.inspect("base"), self.inspect(image));
        let below = layers(&base);
        let layers = layers(&image_said);
        let is_scratch = layers.first() != below.first();
        let below = if is_scratch { Tree::new() } else { listing::tree(&below) };
        let mut lines = listing::lines(&below, &listing::tree(&layers));
        lines.extend(config::lines(&image_said["Config"]));
        let mut command = Command::new(&self.docker);
        command.args(["history", "--no-trunc", "--format", "{{json .CreatedBy}}", image]);
        let output = String::from_utf8(self.run(command).stdout).expect("text");
        let history: Vec<String> =
            output.lines().rev().map(|line| serde_json::from_str(line).expect("a line")).collect();
        let history = history.iter().map(String::as_str);
        lines.extend(config::history(std::iter::once("").filter(|_| is_scratch).chain(history)));
        lines.iter().map(|line| line.replace(server, "SERVER")).collect()
    }

    fn inspect(&self, image: &str) -> Value {
        let mut command = Command::new(&self.docker);
        let output = self.run({
            command.args(["image", "inspect", image]);
            command
        });
        let value: Value = serde_json::from_slice(&output.stdout).expect("what docker knows of an image");
        value[0].clone()
    }
}

/// The directories of an image's layers, bottom first.
fn layers(image: &Value) -> Vec<PathBuf> {
    let data = &image["GraphDriver"]["Data"];
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    let lower = text("LowerDir").split(':').rev();
    lower.chain([text("UpperDir")]).filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}
