//! `cargo xtask dockerfile-diff`: Dockerfiles built by us and by docker's BuildKit, and what came of them compared.
//!
//! In reading order: [`roots`] bootstraps the root file systems, one with docker in it and one to build on; [`daemon`]
//! runs docker in the first, in namespaces that end with this process. The cases and the comparison are a test of
//! `abx-build`, named `conformance`, which every run of the tests compares with what BuildKit said when it was
//! last asked; here it is asked again.

mod daemon;
mod roots;

use std::path::Path;
use std::process::Command;

use crate::bench::Scratch;
use crate::failure::Failure;
use crate::{apt, host, tool, workspace};
use daemon::Daemon;
use roots::Roots;

/// Where the table goes, below the root of the workspace.
const TABLE: &str = "docs/dockerfile-conformance.md";

/// Compares the cases that `arguments` name, or all; `--record` writes down what BuildKit makes of them.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(reason) = lacking() {
        return Err(Failure::unexpected("dockerfile-diff", reason));
    }
    let table = compare(arguments)?;
    if arguments.iter().any(|argument| !argument.starts_with('-')) {
        tool::print(&table);
        return Ok(());
    }
    let path = workspace::root().join(TABLE);
    std::fs::write(&path, table).map_err(Failure::file(&path))?;
    tool::say(&format!("written to {}", path.display()));
    Ok(())
}

/// Compares all cases, as a table. Where this host cannot, the text says why.
pub(crate) fn table() -> Result<String, Failure> {
    match lacking() {
        Some(reason) => Ok(format!("Not run: {reason}.\n")),
        None => compare(&[]),
    }
}

/// Why there can be no comparison here; what can be installed is.
fn lacking() -> Option<String> {
    if !host::is_root() {
        return Some("needs root, for namespaces and mounts".to_owned());
    }
    let missing: Vec<_> = PROGRAMS.iter().filter(|(program, _)| tool::find(program).is_none()).collect();
    apt::install(&missing.iter().map(|(_, package)| *package).collect::<Vec<_>>());
    let missing = PROGRAMS.iter().find(|(program, _)| tool::find(program).is_none())?;
    Some(format!("no {} (apt-get install {})", missing.0, missing.1))
}

/// What we start, and the packages it is in.
const PROGRAMS: [(&str, &str); 7] = [
    ("mmdebstrap", "mmdebstrap"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("bzip2", "bzip2"),
    ("zstd", "zstd"),
];

fn compare(arguments: &[String]) -> Result<String, Failure> {
    let roots = Roots::bootstrap()?;
    let scratch = Scratch::new()?;
    let daemon = Daemon::start(&roots.peer, &scratch)?;
    daemon.import(&roots.base, "base")?;
    let report = scratch.path().join("report.md");
    let mut command = Command::new(workspace::cargo());
    command.args(["test", "--package", "abx-build", "--test", "conformance", "--", "--peer"]);
    command.arg(daemon.client()).arg("--base").arg(&roots.base).arg("--report").arg(&report);
    // The daemon sees the folder of this run at the same place as we do, and no other.
    command.args(arguments).env("TMPDIR", scratch.path()).current_dir(workspace::root());
    let passed = tool::run(&mut command);
    let table = std::fs::read_to_string(&report).unwrap_or_default();
    passed?;
    Ok(format!("{}{table}", head(&daemon.version()?)))
}

fn head(version: &str) -> String {
    format!(
        "# Dockerfiles beside BuildKit\n\nWhat `cargo xtask dockerfile-diff` found, with the BuildKit of docker {version} over a bootstrapped \
         Debian root. Compared are paths, types, modes, owners, links, contents and extended attributes, the configuration \
         and the history; times are not. The cases are in `crates/abx-build/tests/dockerfiles`.\n\n"
    )
}

/// The folder of what is kept between runs.
fn kept() -> std::path::PathBuf {
    workspace::target().join("dockerfile-diff")
}

fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::file(folder))
}
