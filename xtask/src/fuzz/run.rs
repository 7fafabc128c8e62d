//! One target: its run, and what is kept of it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::{self, Programs};
use super::keep;
use crate::failure::Failure;
use crate::{tool, workspace};

/// No file that a person wrote needs more to show what is wrong with a reader.
const LONGEST: &str = "-max_len=4096";
/// Longer than any input may take, on a busy machine too.
const SECONDS: &str = "-timeout=10";
const MEGABYTES: &str = "-rss_limit_mb=2048";

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    inputs: u64,
    per_second: u64,
    branches: u64,
}

impl Ran {
    /// A line of the table.
    pub(crate) fn row(&self, target: &str) -> String {
        format!("| {target} | {} | {} | {} |\n", self.inputs, self.per_second, self.branches)
    }

    /// Reads the end of what libFuzzer says: `#12\tDONE   cov: 3 ft: …` and the statistics.
    fn read(said: &str) -> Option<Self> {
        let number = |key: &str| {
            let (_, rest) = said.rsplit_once(key)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            inputs: number("stat::number_of_executed_units:")?,
            per_second: number("stat::average_exec_per_sec:")?,
            branches: number(" cov: ")?,
        })
    }
}

/// Runs a target; `None` where an input made it panic, which is told.
pub(crate) fn target(programs: &Programs, target: &str, seconds: u32) -> Result<Option<Ran>, Failure> {
    tool::say(&format!("{target}: {seconds} s"));
    let [found, artifacts] = folders(target)?;
    let mut command = command(programs, target);
    command.args([&found, &kept(target)]).args([LONGEST, SECONDS, MEGABYTES, "-print_final_stats=1"]);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()));
    let dictionary = workspace::root().join(format!("fuzz/dictionaries/{target}.dict"));
    if dictionary.exists() {
        command.arg(format!("-dict={}", dictionary.display()));
    }
    let output = command.output().map_err(|source| tool::start_failure(&command, source))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let ran = Ran::read(&said).ok_or_else(|| Failure::unexpected(target, "no statistics"))?;
        return Ok(Some(ran));
    }
    let _ = std::io::stderr().lock().write_all(&output.stderr);
    tool::say(&format!(
        "{target}: an input does not hold; it is in {}.\nMend the reader, and keep the input as fuzz/corpus/{target}/found-….",
        artifacts.display()
    ));
    Ok(None)
}

/// Adds to the kept corpus the inputs that reach most of what nothing there does.
pub(crate) fn keep(programs: &Programs, target: &str) -> Result<(), Failure> {
    let [found, _] = folders(target)?;
    let folder = build::target().join(target).join("tmp");
    let (merged, control) = (folder.join("merged"), folder.join("control"));
    fs::create_dir_all(&merged).map_err(Failure::file(&merged))?;
    let mut command = command(programs, target);
    // By branches alone: how often each was taken, and what was compared, tells too many apart.
    command.args(["-merge=1", "-use_counters=0", "-use_cmp=0", LONGEST, SECONDS, MEGABYTES]);
    command.arg(format!("-merge_control_file={}", control.display()));
    tool::output(command.args([&merged, &kept(target), &found]))?;
    keep::best(&control, &kept(target))
}

/// The program, with a folder of its own for what it unpacks.
fn command(programs: &Programs, target: &str) -> Command {
    let mut command = Command::new(programs.of(target));
    command.env("TMPDIR", build::target().join(target).join("tmp")).env("RUST_BACKTRACE", "1");
    command
}

fn kept(target: &str) -> PathBuf {
    workspace::root().join("fuzz/corpus").join(target)
}

/// The folders for what is found meanwhile, and for inputs that make the target panic. What an earlier run has left
/// unpacked goes.
fn folders(target: &str) -> Result<[PathBuf; 2], Failure> {
    let folder = build::target().join(target);
    let _ = fs::remove_dir_all(folder.join("tmp"));
    let make = |path: &Path| fs::create_dir_all(path).map_err(Failure::file(path));
    let folders = [folder.join("corpus"), folder.join("artifacts")];
    make(&folder.join("tmp"))?;
    folders.iter().try_for_each(|path| make(path))?;
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::Ran;

    #[test]
    fn what_a_run_says_at_its_end_is_read() {
        let said = "#2\tINITED cov: 3 ft: 4\n#99\tDONE   cov: 524 ft: 2819 corp: 807/26Kb lim: 1145\n\
                    stat::number_of_executed_units: 624283\nstat::average_exec_per_sec:     48021\n";
        assert_eq!(Ran::read(said), Some(Ran { inputs: 624_283, per_second: 48_021, branches: 524 }));
        assert_eq!(Ran::read("killed"), None);
    }
}
