//! `cargo xtask templates`: every template that comes with the program, built from nothing and tested.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::Failure;
use crate::{full, tool, workspace};

/// Parents before their children, so that each is built on what is there.
const TEMPLATES: [&str; 5] = ["base", "python-base", "python-data-science", "node-web", "code-interpreter"];

const USAGE: &str = "\
Usage: cargo xtask templates [--abx PROGRAM]

Builds each template from nothing, with the package archives in reach, and runs its tests. Needs root.
Writes benches/results/templates.md.
";

/// What one template came to.
struct Row {
    name: &'static str,
    /// From its parent, every package downloaded.
    build: Duration,
    /// Once more, with all of it there.
    again: Duration,
    /// Bytes of all its layers.
    size: u64,
    tests: usize,
    passed: usize,
    testing: Duration,
}

/// Builds, tests and writes what it came to.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let program = match arguments {
        [] => workspace::release()?,
        [option, program] if option == "--abx" => PathBuf::from(program),
        _ => return Err(Failure::Usage(USAGE.to_owned())),
    };
    let text = format!("{}{}", full::heading("cargo xtask templates")?, table(&program)?);
    let path = workspace::root().join("benches/results/templates.md");
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    tool::say(&format!("written to {}", path.display()));
    Ok(())
}

/// Builds and tests all of them in a state directory that goes with the end of this; a table of what it came to.
pub(crate) fn table(program: &Path) -> Result<String, Failure> {
    let home = workspace::target().join(format!("templates-{}", std::process::id()));
    let rows = TEMPLATES.into_iter().map(|name| row(program, &home, name)).collect::<Result<Vec<_>, _>>();
    let removed = std::fs::remove_dir_all(&home).map_err(Failure::file(&home));
    let rows = rows?;
    removed?;
    let mut text = String::from(
        "| template | build on its parent | all cached | size | tests passed | testing |\n|---|---|---|---|---|---|\n",
    );
    for row in &rows {
        let _ = writeln!(
            text,
            "| {} | {:.1} s | {:.0} ms | {:.0} MB | {} of {} | {:.1} s |",
            row.name,
            row.build.as_secs_f64(),
            row.again.as_secs_f64() * 1e3,
            row.size as f64 / 1e6,
            row.passed,
            row.tests,
            row.testing.as_secs_f64(),
        );
    }
    text.push_str(
        "\nBuilt from nothing, one after the other; `base` includes the Debian image it begins with. \
         The size is that of all unpacked files, the parent's too.\n",
    );
    Ok(text)
}

fn row(program: &Path, home: &Path, name: &'static str) -> Result<Row, Failure> {
    tool::say(&format!("{name} …"));
    let abx = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).env("ABX_HOME", home);
        command
    };
    let (build, _) = timed(|| tool::output(&mut abx(&["template", "build", name])))?;
    let (again, _) = timed(|| tool::output(&mut abx(&["template", "build", name])))?;
    let listed = json(&tool::output(&mut abx(&["template", "list", "--json"]))?);
    let listed = listed.as_array().and_then(|all| all.iter().find(|one| one["name"] == name).cloned());
    let size = listed.and_then(|one| one["size"].as_u64()).unwrap_or_default();
    let (testing, report) = timed(|| {
        let command = &mut abx(&["template", "test", name, "--json"]);
        let output = command.output().map_err(|source| tool::start_failure(command, source))?;
        // Status 1 is that a test failed: the table says so.
        match output.status.code() {
            Some(0 | 1) => Ok(json(&String::from_utf8_lossy(&output.stdout))),
            _ => Err(tool::failed(command, &output.status.to_string(), &output.stderr)),
        }
    })?;
    let files = report["files"].as_array().into_iter().flatten();
    let tests: Vec<&Value> = files.flat_map(|file| file["tests"].as_array().into_iter().flatten()).collect();
    let passed = tests.iter().filter(|test| test["passed"] == true).count();
    for test in tests.iter().filter(|test| test["passed"] != true) {
        tool::say(&format!("{name}: failed: {test:#}"));
    }
    Ok(Row { name, build, again, size, tests: tests.len(), passed, testing })
}

fn timed<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(Duration, T), Failure> {
    let start = Instant::now();
    let value = work()?;
    Ok((start.elapsed(), value))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
