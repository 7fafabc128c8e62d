//! Namespaces in which nobody else's processes, mounts, interfaces or control groups are, and in which nothing can
//! outlive the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::plots;

/// Set for the test inside.
const INSIDE: &str = "ABX_KILL_INSIDE";

/// Hierarchies of cgroup version 1 that are ours alone in the lab; the empty name is version 2.
pub(crate) const CONTROLLERS: [&str; 8] =
    ["cpu", "cpuacct", "cpu,cpuacct", "cpuset", "memory", "pids", "freezer", ""];

/// The control group the lab sees as the top.
const GROUP: &str = "abx-kill-test";

/// `abx` with the lab's state directory.
pub(crate) struct Abx {
    folder: PathBuf,
}

impl Abx {
    /// As [`enter`] left word.
    pub(crate) fn from_environment() -> Self {
        Self { folder: std::env::var_os(INSIDE).expect("we are inside").into() }
    }

    /// Where the templates are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// `abx` with these words, in the folder of templates.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.folder.join("abx"));
        command.args(words).env("ABX_HOME", self.home()).env_remove(INSIDE).current_dir(&self.folder);
        command
    }

    /// Its stdout; it must succeed.
    pub(crate) fn expect(&self, words: &[&str]) -> String {
        let output = self.command(words).output().expect("abx runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {}\n{said}", output.status);
        String::from_utf8(output.stdout).expect("text")
    }
}

/// What the host lacks for this test.
pub(crate) fn lacking() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        Some("killing at random needs root, for namespaces and mounts")
    } else if !["unshare", "mount", "ip", "mkfs.ext4"].iter().all(|program| is_installed(program)) {
        Some("killing at random needs unshare, mount, ip and mkfs.ext4")
    } else {
        None
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').chain(["/usr/sbin", "/sbin"]).any(|folder| Path::new(folder).join(program).exists())
}

pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the test called `name` again, in the lab. The base image is fetched before: the lab's network leads nowhere.
pub(crate) fn enter(name: &str) {
    let folder = tempfile::Builder::new().prefix("abx-kill-").tempdir().expect("tempdir");
    plots::write_templates(folder.path());
    // A copy: a build beside this test may replace the program.
    abx_test::copy_program(Path::new(env!("CARGO_BIN_EXE_abx")), &folder.path().join("abx"));
    let abx = Abx { folder: folder.path().to_owned() };
    let built = abx.command(&["template", "build", "./plain"]).output().expect("abx runs");
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(said.contains("E5001") || said.contains("E7012") || said.contains("E5000"), "{said}");
        println!("skipped: the base image is out of reach");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--net", "--fork", "--mount-proc", "--kill-child", "--"]);
    // The first process must collect what is orphaned: a shell does.
    command
        .args(["bash", "-c", r#""$@"; exit $?"#, "lab"])
        .arg(std::env::current_exe().expect("own program"));
    command.args(["--exact", name, "--nocapture"]).env(INSIDE, folder.path());
    let status = command.status().expect("unshare runs");
    remove_groups();
    assert!(status.success(), "inside: {status}");
}

/// Makes the lab from within.
pub(crate) fn furnish() {
    // As on most hosts: what is mounted by accident would be seen by all.
    run("mount", "--make-rshared /");
    for words in [
        "link set lo up",
        "link add uplink type veth peer name nowhere",
        "address add 198.51.100.2/24 dev uplink",
        "link set uplink up",
        "link set nowhere up",
        "route add default via 198.51.100.1",
    ] {
        run("ip", words);
    }
    for hierarchy in hierarchies() {
        let group = hierarchy.join(GROUP);
        std::fs::create_dir_all(&group).expect("control group");
        inherit_cpuset(&hierarchy, &group);
        run("mount", &format!("--bind {0} {1}", group.display(), hierarchy.display()));
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
    let named = CONTROLLERS.iter().filter(|name| !name.is_empty()).map(|name| top.join(name));
    named.filter(|hierarchy| hierarchy.is_dir() && !hierarchy.is_symlink()).collect()
}

fn remove_groups() {
    for hierarchy in hierarchies() {
        remove_group(&hierarchy.join(GROUP));
    }
}

fn remove_group(group: &Path) {
    for child in group.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()) {
        if child.is_dir() {
            remove_group(&child);
        }
    }
    let _ = std::fs::remove_dir(group);
}

fn run(program: &str, words: &str) {
    let output = Command::new(program).args(words.split(' ')).output().expect("program runs");
    assert!(output.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&output.stderr));
}
