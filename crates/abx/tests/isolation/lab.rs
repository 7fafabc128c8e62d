//! The host that attempts are made against: namespaces of their own and limits, so that what gets out gets nowhere.
//!
//! A test runs twice: outside, where it starts this program again in the lab and waits, and in the lab. There the host
//! has a network that leads nowhere, a metadata server ([`METADATA`]), and no more memory and processes than
//! [`MEMORY`] and [`PROCESSES`]; with the first process of the lab all of it ends.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use abx_test::{TestContext, skip};

use crate::PROGRAM;

/// Set for the test in the lab.
const INSIDE: &str = "ABX_ISOLATION_INSIDE";

/// Where a cloud would tell its machines their secrets.
pub(crate) const METADATA: &str = "169.254.169.254";

/// What all of a lab may use.
const MEMORY: &str = "3221225472";
const PROCESSES: &str = "9000";

/// The longest an attempt may take with all that belongs to it, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs `attempts` in the lab. `name` is the test's own, by which the program finds it again.
///
/// # Panics
/// An attempt came through.
pub(crate) fn run(name: &str, attempts: impl FnOnce(&TestContext)) {
    if std::env::var_os(INSIDE).is_some() {
        furnish();
        let abx = TestContext::shared(PROGRAM).expect("it was there a moment ago");
        return attempts(&abx);
    }
    if !cfg!(target_arch = "x86_64") {
        return skip("the attempts make system calls by the numbers of x86-64");
    }
    // The lab's network leads nowhere, so what is to be built is built before.
    if TestContext::shared(PROGRAM).is_none() {
        return;
    }
    enter(name);
}

fn enter(name: &str) {
    let group = Group::new();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc", "--kill-child", "--"]);
    // The first process must collect what is orphaned: a shell does. It joins the groups before anything else.
    command.args([
        "bash",
        "-c",
        r#"for tasks in $1; do echo $$ > $tasks; done; shift; "$@"; exit $?"#,
        "lab",
    ]);
    command.arg(group.entrances()).arg(std::env::current_exe().expect("own program"));
    command.args(["--exact", name, "--nocapture"]).env(INSIDE, &group.name);
    let mut child = command.stdin(Stdio::null()).spawn().expect("unshare runs");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("wait") {
            break status;
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{name} still runs after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success(), "{name} in the lab: {status}");
}

/// Makes the lab from within.
fn furnish() {
    run_program("mount", "--make-rshared /");
    let group = std::env::var(INSIDE).expect("we are inside");
    for hierarchy in hierarchies() {
        // What the lab's programs take for the top is the limited group.
        run_program("mount", &format!("--bind {0}/{group} {0}", hierarchy.display()));
    }
    for words in [
        "link set lo up",
        "link add uplink type veth peer name nowhere",
        "address add 198.51.100.2/24 dev uplink",
        "link set uplink up",
        "link set nowhere up",
        "route add default via 198.51.100.1",
        &format!("address add {METADATA}/32 dev uplink"),
    ] {
        run_program("ip", words);
    }
}

/// A control group with the lab's limits in every hierarchy; removed when dropped, with what is below it.
struct Group {
    name: String,
}

impl Group {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let group = Self { name: format!("abx-isolation-{}-{number}", std::process::id()) };
        for hierarchy in hierarchies() {
            let folder = hierarchy.join(&group.name);
            std::fs::create_dir_all(&folder).expect("control group");
            inherit_cpuset(&hierarchy, &folder);
            for (file, limit) in [
                ("memory.limit_in_bytes", MEMORY),
                ("memory.max", MEMORY),
                ("memory.use_hierarchy", "1"),
                ("pids.max", PROCESSES),
            ] {
                // Each is of one hierarchy.
                if folder.join(file).exists() {
                    let _ = std::fs::write(folder.join(file), limit);
                }
            }
        }
        group
    }

    /// The files into which a process writes its number, separated by blanks.
    fn entrances(&self) -> String {
        let tasks = hierarchies()
            .into_iter()
            .map(|hierarchy| hierarchy.join(&self.name).join("cgroup.procs").display().to_string());
        tasks.collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for hierarchy in hierarchies() {
            remove_group(&hierarchy.join(&self.name));
        }
    }
}

/// The kernel lets go of a group when the last of its processes is collected.
fn remove_group(group: &Path) {
    for child in group.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()) {
        if child.is_dir() {
            remove_group(&child);
        }
    }
    for _ in 0..500 {
        match std::fs::remove_dir(group) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            _ => return,
        }
    }
}

/// A new group of version 1 has no processors or memory nodes, and takes no process before it has.
fn inherit_cpuset(parent: &Path, group: &Path) {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if let Ok(value) = std::fs::read(parent.join(file)) {
            let _ = std::fs::write(group.join(file), value);
        }
    }
}

/// Where the hierarchies are mounted: those of version 1, or the one of version 2.
fn hierarchies() -> Vec<PathBuf> {
    let top = Path::new("/sys/fs/cgroup");
    if top.join("cgroup.controllers").exists() {
        return vec![top.to_owned()];
    }
    let named = ["cpu", "cpuacct", "cpu,cpuacct", "cpuset", "memory", "pids", "freezer"];
    let folders = named.iter().map(|name| top.join(name));
    folders.filter(|hierarchy| hierarchy.is_dir() && !hierarchy.is_symlink()).collect()
}

fn run_program(program: &str, words: &str) {
    let output = Command::new(program).args(words.split(' ')).output().expect("program runs");
    if !output.status.success() {
        let _ = std::io::stderr().write_all(&output.stderr);
        panic!("{program} {words}: {}", output.status);
    }
}
