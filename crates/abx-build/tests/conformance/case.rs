//! One case: a folder of `dockerfiles`.
//!
//! ```text
//! Dockerfile          what is built; FROM `base`, or `parent` where there is a
//! Dockerfile.parent   built before, over `base`
//! context.sh          makes the context in the current folder, and what is served in $SERVED
//! options             lines: `arg NAME=VALUE`, `target STAGE`, `secret ID=VALUE`, `needs PROGRAM` for the context
//! expected            what BuildKit made of it, written by `cargo xtask dockerfile-diff --record`
//! refusal             what we say where we refuse it, written likewise
//! differences         lines of BuildKit (`-`) and ours (`+`) that differ, each group below the reason (`#`)
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::Outcome;
use crate::server::Server;

/// A case as it is written.
pub(crate) struct Case {
    pub(crate) name: String,
    folder: PathBuf,
    pub(crate) dockerfile: String,
    pub(crate) parent: Option<String>,
    pub(crate) args: Vec<(String, String)>,
    pub(crate) secrets: Vec<(String, String)>,
    pub(crate) target: Option<String>,
    needs: Vec<String>,
    pub(crate) differences: Vec<Difference>,
}

/// A group of lines that differ for a reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Difference {
    pub(crate) reason: String,
    pub(crate) theirs: Vec<String>,
    pub(crate) ours: Vec<String>,
}

/// A case ready to be built.
pub(crate) struct Place {
    /// A folder of its own.
    pub(crate) folder: PathBuf,
    pub(crate) context: PathBuf,
    pub(crate) args: Vec<(String, String)>,
    /// How the server is reached, which is another name each time.
    pub(crate) server: String,
}

impl Case {
    /// Every case, in the order of their names.
    pub(crate) fn all() -> Vec<Self> {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dockerfiles");
        let entries = std::fs::read_dir(&top).expect("the cases").map(|entry| entry.expect("entry").path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.into_iter().map(Self::read).collect()
    }

    fn read(folder: PathBuf) -> Self {
        let name = folder.file_name().expect("name").to_string_lossy().into_owned();
        let text = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
        let options = text("options").unwrap_or_default();
        let mut case = Self {
            dockerfile: text("Dockerfile").unwrap_or_else(|| panic!("{name}: no Dockerfile")),
            parent: text("Dockerfile.parent"),
            args: Vec::new(),
            secrets: Vec::new(),
            target: None,
            needs: Vec::new(),
            differences: differences(&text("differences").unwrap_or_default()),
            name,
            folder: folder.clone(),
        };
        for line in options.lines() {
            let (kind, value) = line.split_once(' ').expect("an option and its value");
            let pair = || value.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            match kind {
                "arg" => case.args.extend(pair()),
                "secret" => case.secrets.extend(pair()),
                "target" => case.target = Some(value.to_owned()),
                "needs" => case.needs.push(value.to_owned()),
                other => panic!("{}: no option `{other}`", case.name),
            }
        }
        case
    }

    /// A program its context is made with and this host lacks.
    pub(crate) fn lacking(&self) -> Option<&str> {
        let path = std::env::var("PATH").unwrap_or_default();
        let is_there = |name: &str| path.split(':').any(|folder| Path::new(folder).join(name).exists());
        self.needs.iter().map(String::as_str).find(|name| !is_there(name))
    }

    /// Makes the context.
    pub(crate) fn prepare(&self, work: &Path, server: &Server) -> Place {
        let folder = work.join("cases").join(&self.name);
        let (context, served) = (folder.join("context"), server.root().join(&self.name));
        std::fs::create_dir_all(&context).expect("mkdir");
        std::fs::create_dir_all(&served).expect("mkdir");
        let script = self.folder.join("context.sh");
        if script.exists() {
            let mut command = Command::new("sh");
            command.args(["-euc", "umask 022; . \"$0\""]).arg(&script).current_dir(&context);
            let output = command.env("SERVED", &served).output().expect("sh");
            assert!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        }
        std::fs::write(folder.join("Dockerfile"), &self.dockerfile).expect("write");
        let mut args = self.args.clone();
        if self.dockerfile.contains("ARG SERVER") {
            args.push(("SERVER".to_owned(), server.address()));
        }
        Place { folder, context, args, server: server.address() }
    }

    /// What BuildKit made of it.
    pub(crate) fn recorded(&self) -> Option<Outcome> {
        std::fs::read_to_string(self.folder.join("expected")).ok().map(|text| Outcome::parse(&text))
    }

    /// What we are to say of it where we refuse it.
    pub(crate) fn refusal(&self) -> Option<String> {
        std::fs::read_to_string(self.folder.join("refusal")).ok().map(|text| text.trim_end().to_owned())
    }

    /// Writes down what came of it.
    pub(crate) fn record(&self, theirs: &Outcome, ours: &Outcome) {
        std::fs::write(self.folder.join("expected"), theirs.text()).expect("write");
        let refusal = self.folder.join("refusal");
        match ours {
            Outcome::Refused(reason) => std::fs::write(refusal, format!("{reason}\n")).expect("write"),
            Outcome::Built(_) => drop(std::fs::remove_file(refusal)),
        }
    }
}

fn differences(text: &str) -> Vec<Difference> {
    let mut groups: Vec<Difference> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let is_new = groups.last().is_none_or(|group| !group.theirs.is_empty() || !group.ours.is_empty());
        if let Some(reason) = line.strip_prefix("# ") {
            if is_new {
                groups.push(Difference::default());
            }
            let group = groups.last_mut().expect("a group");
            group.reason = format!("{} {reason}", group.reason).trim().to_owned();
            continue;
        }
        let group = groups.last_mut().expect("a reason before the lines");
        match line.split_at(2) {
            ("- ", line) => group.theirs.push(line.to_owned()),
            ("+ ", line) => group.ours.push(line.to_owned()),
            _ => panic!("no difference: {line}"),
        }
    }
    groups
}
