//! Everything there is that a run of ours could leave behind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::lab::{Abx, CONTROLLERS};

/// Killed processes, and what the kernel takes back with them, take a moment to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// What there was at one moment, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Census {
    things: BTreeSet<String>,
}

/// A process of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// What it is, for the tally.
    pub(crate) name: String,
}

impl Process {
    /// Sends a signal, if it is still there.
    pub(crate) fn send(&self, signal: &str) {
        let _ = Command::new("kill").args([&format!("-{signal}"), &self.pid.to_string()]).output();
    }
}

impl Census {
    pub(crate) fn take(abx: &Abx) -> Self {
        let mut things = BTreeSet::new();
        things.extend(
            processes().into_iter().map(|process| format!("process {} {}", process.pid, process.name)),
        );
        things.extend(lines("/proc/self/mountinfo", "mount"));
        things.extend(
            lines("/proc/net/dev", "interface").filter_map(|line| Some(line.split_once(':')?.0.to_owned())),
        );
        for controller in CONTROLLERS {
            things.extend(groups(&Path::new("/sys/fs/cgroup").join(controller)));
        }
        things.extend(loop_devices(&abx.home()));
        things.extend(entries(&abx.home().join("sandboxes"), "entry"));
        things.extend(entries(&abx.home().join("store/staging"), "half entry"));
        things.extend(half_layers(&abx.home().join("store/layers")));
        Self { things }
    }

    /// The same things must be there, soon. An entry that is younger than two seconds may be one that is just being
    /// made, so it can take a second clean to remove it.
    pub(crate) fn expect_again(&self, abx: &Abx, told: &str) {
        let start = Instant::now();
        loop {
            let now = Self::take(abx);
            if now == *self {
                return;
            }
            if start.elapsed() > PATIENCE {
                let left: Vec<_> = now.things.difference(&self.things).collect();
                let gone: Vec<_> = self.things.difference(&now.things).collect();
                panic!("{told}\nleft behind: {left:#?}\ngone: {gone:#?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Processes of ours that were not there then.
    pub(crate) fn newcomers(&self) -> Vec<Process> {
        let is_new =
            |process: &Process| !self.things.contains(&format!("process {} {}", process.pid, process.name));
        processes().into_iter().filter(|process| process.name.starts_with("abx")).filter(is_new).collect()
    }
}

/// Every process of this lab but its first, this one, and those that have ended and wait to be collected.
fn processes() -> Vec<Process> {
    let own = std::process::id();
    let numbers =
        list(Path::new("/proc")).into_iter().filter_map(|path| path.file_name()?.to_str()?.parse().ok());
    numbers.filter(|pid| *pid != 1 && *pid != own).filter_map(process).collect()
}

fn process(pid: u32) -> Option<Process> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let status = std::fs::read_to_string(folder.join("status")).ok()?;
    if status.lines().any(|line| line.starts_with("State:") && line.contains("zombie")) {
        return None;
    }
    let words = std::fs::read(folder.join("cmdline")).ok()?;
    let verb = words.split(|byte| *byte == 0).nth(1).map(String::from_utf8_lossy).unwrap_or_default();
    let name = std::fs::read_to_string(folder.join("comm")).ok()?.trim().to_owned();
    let name = match (name.as_str(), &*verb) {
        ("abx-init", "isolate-step") => "abx-init of a step".to_owned(),
        (_, "isolate-step") => "abx step helper".to_owned(),
        ("abx", verb) => format!("abx {verb}"),
        // Its digest follows.
        (name, _) if name.starts_with("abx-guest") => "abx-guest".to_owned(),
        _ => name,
    };
    Some(Process { pid, name })
}

fn groups(folder: &Path) -> Vec<String> {
    let children = list(folder).into_iter().filter(|path| path.is_dir());
    children
        .flat_map(|child| [vec![format!("cgroup {}", child.display())], groups(&child)].concat())
        .collect()
}

fn loop_devices(home: &Path) -> Vec<String> {
    let files = list(Path::new("/sys/block")).into_iter().map(|device| device.join("loop/backing_file"));
    let home = home.to_string_lossy().into_owned();
    let texts = files.filter_map(|file| std::fs::read_to_string(file).ok());
    texts.filter(|text| text.contains(&home)).map(|text| format!("loop device {}", text.trim())).collect()
}

fn entries(folder: &Path, what: &str) -> Vec<String> {
    list(folder).into_iter().map(|path| format!("{what} {}", path.display())).collect()
}

/// A layer's description is written last.
fn half_layers(folder: &Path) -> Vec<String> {
    let layers = list(folder).into_iter().filter(|layer| !layer.join("layer.json").exists());
    layers.map(|layer| format!("half layer {}", layer.display())).collect()
}

fn lines(file: &str, what: &str) -> impl Iterator<Item = String> {
    let text = std::fs::read_to_string(file).expect("the kernel tells");
    text.lines().map(|line| format!("{what} {line}")).collect::<Vec<_>>().into_iter()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
