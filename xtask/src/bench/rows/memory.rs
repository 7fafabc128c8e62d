//! What an idle sandbox takes: the processes it needs, and what its control group is charged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bench::clock::quiet;
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::peers::SLEEP;
use crate::failure::Failure;

const ROUNDS: usize = 3;
/// Sandboxes alive at the same time; the result is a mean of them.
const SANDBOXES: usize = 5;

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let processes = contest(
        lab,
        "memory-processes",
        "An idle sandbox: proportional set size of every process it needs (monitor or shim, the process \
         inside), mean of five alive together; shared daemons not counted.",
        |new| new.iter().map(|process| proportional_set_size(process)).sum(),
    )?;
    let charged = contest(
        lab,
        "memory-charged",
        "An idle sandbox: what its memory control group is charged, page cache and kernel memory included, mean of \
         five.",
        |new| groups_of(new).iter().map(|group| charge(group)).sum(),
    )?;
    Ok(vec![processes, charged])
}

/// Lets everybody start [`SANDBOXES`] idle sandboxes, and gives the processes that came with them to `measure`.
fn contest(
    lab: &Lab,
    title: &'static str,
    what: &'static str,
    measure: fn(&[PathBuf]) -> f64,
) -> Result<Outcome, Failure> {
    let root = lab.root("base")?;
    let mut contest = Contest::new(title, what, Unit::Bytes);
    contest.add("abx", move || idle(measure, || lab.ours().create("base"), |id| lab.ours().kill(id)));
    match lab.podman(&root) {
        Ok((podman, image)) => {
            let create = move || quiet(&mut podman.run("none", &["--detach"], &image, &SLEEP));
            contest.add("podman (conmon)", move || idle(measure, &create, |id| podman.remove(id)));
        }
        Err(reason) => contest.skip("podman", reason),
    }
    match lab.docker(&root) {
        Ok((docker, image)) => {
            let create = move || quiet(&mut docker.run("none", &["--detach"], &image, &SLEEP));
            contest.add("docker (shim)", move || idle(measure, &create, |id| docker.remove(id)));
        }
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(contest.run(lab.few_rounds(ROUNDS)))
}

fn idle(
    measure: fn(&[PathBuf]) -> f64,
    create: impl Fn() -> Result<String, Failure>,
    remove: impl Fn(&str),
) -> Result<f64, Failure> {
    let before = processes();
    let ids: Vec<_> = (0..SANDBOXES).map(|_| create()).collect();
    // Start-up is over when nothing has happened for a while.
    std::thread::sleep(Duration::from_secs(1));
    let new: Vec<PathBuf> = processes().difference(&before).cloned().collect();
    let bytes = measure(&new);
    for id in ids.iter().flatten() {
        remove(id.trim());
    }
    ids.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(bytes / SANDBOXES as f64)
}

/// `/proc/<pid>` of every process of this lab.
fn processes() -> BTreeSet<PathBuf> {
    let entries = Path::new("/proc").read_dir().into_iter().flatten().flatten();
    let is_process = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().iter().all(u8::is_ascii_digit))
    };
    entries.map(|entry| entry.path()).filter(is_process).collect()
}

fn proportional_set_size(process: &Path) -> f64 {
    let text = std::fs::read_to_string(process.join("smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kilobytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or_default() * 1024.0
}

/// The memory control groups of `processes`, without the one we are in ourselves.
fn groups_of(processes: &[PathBuf]) -> BTreeSet<PathBuf> {
    let own = memory_group(Path::new("/proc/self"));
    processes
        .iter()
        .filter_map(|process| memory_group(process))
        .filter(|group| Some(group) != own.as_ref())
        .collect()
}

/// The directory of the process's memory control group; `None` for the top.
fn memory_group(process: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(process.join("cgroup")).ok()?;
    let group = text.lines().find_map(|line| {
        let (hierarchy, path) = line.split_once("::").or_else(|| line.split_once(":memory:"))?;
        // In a mixed set-up memory is on version 1, and version 2 says `/`.
        (path != "/").then(|| (hierarchy != "0", path.trim_start_matches('/').to_owned()))
    });
    let (is_version_1, path) = group?;
    let top = Path::new("/sys/fs/cgroup");
    Some(if is_version_1 { top.join("memory").join(path) } else { top.join(path) })
}

fn charge(group: &Path) -> f64 {
    let files = ["memory.usage_in_bytes", "memory.current"];
    let number =
        files.iter().find_map(|file| std::fs::read_to_string(group.join(file)).ok()?.trim().parse().ok());
    number.unwrap_or_default()
}
