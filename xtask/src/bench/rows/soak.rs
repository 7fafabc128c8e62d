//! Many creates and kills, ten at a time: nothing may stay behind, and the last must be as quick as the first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::ours::Ours;
use crate::bench::rows::TRUE;
use crate::bench::samples::Samples;
use crate::failure::Failure;
use crate::tool;

const ROUNDS: usize = 1000;
const AT_ONCE: usize = 10;
/// As many at each end are compared.
const ENDS: usize = 100;
/// One in so many has the default network.
const NETWORK_EVERY: usize = 4;

/// What the kernel takes back with a killed process takes a moment to be gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// A round's times, in seconds.
#[derive(Clone, Copy)]
struct Round {
    create: f64,
    exec: f64,
    kill: f64,
}

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let ours = lab.ours();
    // The first one makes what all share: the packet filter, the slots, the installed daemon.
    for number in 0..NETWORK_EVERY {
        round(ours, number)?;
    }
    let before = settled(ours)?;
    let rounds = lab.rounds(ROUNDS);
    tool::say(&format!("soak: {rounds} creates and kills, {AT_ONCE} at a time"));
    let start = Instant::now();
    let times = many(ours, rounds)?;
    tool::say(&format!("soak: {:.1} s in all", start.elapsed().as_secs_f64()));
    expect_again(ours, &before)?;
    tool::say(&format!("soak: nothing is left behind; the state directory has {}", size(ours)));
    Ok(outcomes(&times))
}

fn many(ours: &Ours, rounds: usize) -> Result<Vec<Round>, Failure> {
    let next = AtomicUsize::new(0);
    let times = Mutex::new(vec![None; rounds]);
    let work = || -> Result<(), Failure> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= rounds {
                return Ok(());
            }
            let time = round(ours, number)?;
            let mut times = times.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            times[number] = Some(time);
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let times = times.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(times.into_iter().flatten().collect())
}

fn round(ours: &Ours, number: usize) -> Result<Round, Failure> {
    let network = if number.is_multiple_of(NETWORK_EVERY) { "default" } else { "none" };
    let created = timed(&mut ours.command(&["create", "base", "--network", network]))?;
    let id = created.stdout.trim();
    let exec = timed(&mut ours.command(&["exec", id, "--", TRUE[0]]))?.seconds;
    let kill = timed(&mut ours.command(&["kill", id]))?.seconds;
    Ok(Round { create: created.seconds, exec, kill })
}

/// One of a round's times.
type Time = fn(&Round) -> f64;

fn outcomes(times: &[Round]) -> Vec<Outcome> {
    let ends = ENDS.min(times.len() / 2).max(1);
    let phases: [(&str, &str, Time); 3] = [
        ("soak-create", "A sandbox that stays, every fourth with the default network", |round| round.create),
        ("soak-exec", "`/bin/true` in it", |round| round.exec),
        ("soak-kill", "Its end", |round| round.kill),
    ];
    phases
        .map(|(title, what, time)| {
            let samples = |part: &[Round]| Samples::new(part.iter().map(time).collect());
            let parts = [
                (format!("abx, all {}", times.len()), times),
                (format!("abx, first {ends}"), &times[..ends]),
                (format!("abx, last {ends}"), &times[times.len() - ends..]),
            ];
            let lines = parts.into_iter().filter_map(|(name, part)| Some((name, samples(part)?)));
            Outcome {
                title: title.to_owned(),
                what: format!("{what}; {} times, {AT_ONCE} at a time; the whole process.", times.len()),
                unit: Unit::Seconds,
                lines: lines.collect(),
                skipped: Vec::new(),
            }
        })
        .into()
}

/// Everything there is that a sandbox of ours could leave behind.
fn census(ours: &Ours) -> BTreeSet<String> {
    let home = ours.home();
    let mut things = BTreeSet::new();
    things.extend(processes());
    things.extend(lines("/proc/self/mountinfo").map(|line| format!("mount {line}")));
    things.extend(
        lines("/proc/net/dev")
            .filter_map(|line| line.split_once(':').map(|(name, _)| format!("interface {}", name.trim()))),
    );
    let own = list(Path::new("/proc/self/fd")).len();
    things.insert(format!("{own} descriptors of this process"));
    things.extend(loop_devices(home));
    for folder in ["sandboxes", "store/staging"] {
        things.extend(list(&home.join(folder)).into_iter().map(|path| format!("entry {}", path.display())));
    }
    things.extend(groups(home));
    things
}

/// The census once no process of ours runs: a monitor outlives its sandbox for a moment.
fn settled(ours: &Ours) -> Result<BTreeSet<String>, Failure> {
    let start = Instant::now();
    loop {
        let things = census(ours);
        if !things.iter().any(|thing| thing.starts_with("process abx")) {
            return Ok(things);
        }
        if start.elapsed() > PATIENCE {
            return Err(Failure::unexpected(
                "still there",
                things.into_iter().collect::<Vec<_>>().join("\n"),
            ));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn expect_again(ours: &Ours, before: &BTreeSet<String>) -> Result<(), Failure> {
    let start = Instant::now();
    loop {
        let now = census(ours);
        if now == *before {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            let left = now.difference(before).map(|thing| format!("left behind: {thing}"));
            let gone = before.difference(&now).map(|thing| format!("gone: {thing}"));
            let told: Vec<_> = left.chain(gone).collect();
            return Err(Failure::unexpected("after the soak", told.join("\n")));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Those of this lab that live.
fn processes() -> Vec<String> {
    let own = std::process::id().to_string();
    let folders = list(Path::new("/proc")).into_iter().filter(|folder| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.bytes().all(|byte| byte.is_ascii_digit()) && name != own
    });
    let shown = folders.filter_map(|folder| {
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        let is_dead = status.lines().any(|line| line.starts_with("State:") && line.contains('Z'));
        let name = status.lines().next()?.trim_start_matches("Name:").trim();
        (!is_dead).then(|| format!("process {name} {}", folder.display()))
    });
    shown.collect()
}

fn loop_devices(home: &Path) -> Vec<String> {
    let files = list(Path::new("/sys/block")).into_iter().map(|device| device.join("loop/backing_file"));
    let texts = files.filter_map(|file| std::fs::read_to_string(file).ok());
    let ours = texts.filter(|text| text.contains(&*home.to_string_lossy()));
    ours.map(|text| format!("loop device of {}", text.trim())).collect()
}

/// Control groups of sandboxes that this state directory knows, live or ended: others may run beside us.
fn groups(home: &Path) -> Vec<String> {
    let name = |path: &PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
    let known: BTreeSet<String> = ["sandboxes", "ended"]
        .iter()
        .flat_map(|folder| list(&home.join(folder)))
        .filter_map(|path| name(&path))
        .collect();
    let top = Path::new("/sys/fs/cgroup");
    let parents = list(top).into_iter().map(|hierarchy| hierarchy.join("abx")).chain([top.join("abx")]);
    let children = parents.flat_map(|parent| list(&parent));
    children
        .filter(|group| group.is_dir() && name(group).is_some_and(|name| known.contains(&name)))
        .map(|group| format!("control group {}", group.display()))
        .collect()
}

/// What is on disk, without the store.
fn size(ours: &Ours) -> String {
    let summed = |folder: &str| {
        let mut command = std::process::Command::new("du");
        let said = quiet(command.args(["-sk"]).arg(ours.home().join(folder))).unwrap_or_default();
        said.split_whitespace().next().unwrap_or("0").to_owned()
    };
    format!("{} kB of live sandboxes, {} kB of records of ended ones", summed("sandboxes"), summed("ended"))
}

fn lines(file: &str) -> impl Iterator<Item = String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect::<Vec<_>>().into_iter()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
