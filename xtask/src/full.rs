//! `cargo xtask full`: everything slow, with the result kept in the repository.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::bench;
use crate::failure::Failure;
use crate::{dockerfile_diff, fuzz, kill_rounds, templates, tool, workspace};

const KILL_ROUNDS: &str = "300";
const FUZZ_SECONDS: u32 = 60;
const BENCH_RUNS: &str = "100";

/// Kills at random for long, creates and kills a thousand times, builds and tests the templates, builds Dockerfiles
/// beside BuildKit, gives any bytes to every reader, measures every row, and writes `benches/results/full.md`.
pub(crate) fn run() -> Result<(), Failure> {
    let mut text = heading("cargo xtask full")?;
    let _ = writeln!(text, "## Killed at random\n\n```text\n{}```\n", killed()?);
    let _ = writeln!(text, "## Created and killed\n\n{}", bench::tables(&["soak".to_owned()])?);
    let _ = writeln!(text, "## Templates\n\n{}", templates::table(&workspace::release()?)?);
    let _ = writeln!(text, "## Dockerfiles beside BuildKit\n\n{}", dockerfile_diff::table()?);
    let _ = writeln!(text, "## Any bytes\n\n{}", fuzz::table(FUZZ_SECONDS)?);
    let _ = writeln!(
        text,
        "## Ours beside others\n\n{}",
        bench::tables(&["--runs".to_owned(), BENCH_RUNS.to_owned()])?
    );
    let path = workspace::root().join("benches/results/full.md");
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    tool::say(&format!("written to {}", path.display()));
    Ok(())
}

/// What a file of results begins with: the chore, the day, the machine.
pub(crate) fn heading(chore: &str) -> Result<String, Failure> {
    Ok(format!("# {chore} on {}\n\n{}\n", date()?, machine()))
}

/// What the test says of its rounds.
fn killed() -> Result<String, Failure> {
    let output = tool::output(&mut kill_rounds::command(KILL_ROUNDS, None))?;
    let lines = output.lines().filter(|line| line.starts_with("kill: ") || line.starts_with("test result"));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

fn date() -> Result<String, Failure> {
    Ok(tool::output(Command::new("date").args(["-u", "+%Y-%m-%d"]))?.trim().to_owned())
}

/// Kernel, processors and memory; what the figures depend on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_once(':').map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let processors = read("/proc/cpuinfo");
    let count = processors.lines().filter(|line| line.starts_with("processor")).count();
    format!(
        "Linux {}, {count} × {}, memory {}.\n",
        read("/proc/sys/kernel/osrelease").trim(),
        field(&processors, "model name"),
        field(&read("/proc/meminfo"), "MemTotal"),
    )
}
