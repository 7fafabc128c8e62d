//! Surroundings that vanish: process, mount and (for rows without downloads) network namespaces of their own.
//!
//! Daemons of other programs leave bridges, packet filters, mounts, `/run` files and processes behind; in
//! here all that ends with the first process. `/run`, `/dev/shm`, `/etc` and `/var/lib` are written to a layer of
//! the run's folder. Everybody measured is in the same lab, ours too.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::{attempt, quiet};
use crate::bench::contest::Outcome;
use crate::bench::ours::Ours;
use crate::bench::peers::buildah::Buildah;
use crate::bench::peers::docker::Docker;
use crate::bench::peers::podman::Podman;
use crate::bench::root::Root;
use crate::bench::row::{Reach, Row};
use crate::bench::sweeper::Scratch;
use crate::bench::{LAB, report, rows};
use crate::failure::Failure;
use crate::tool;

/// What a row has at hand.
pub(crate) struct Lab {
    folder: PathBuf,
    ours: Ours,
    runs: Option<usize>,
    reach: Reach,
    docker: OnceCell<Result<Docker, String>>,
    podman: OnceCell<Result<Podman, String>>,
    buildah: OnceCell<Result<Buildah, String>>,
}

/// Runs `rows` in a fresh lab and returns what came of it.
pub(crate) fn measure(
    reach: Reach,
    rows: &[Row],
    runs: Option<usize>,
    ours: &Ours,
    scratch: &Scratch,
) -> Result<Vec<Outcome>, Failure> {
    let program = std::env::current_exe().map_err(Failure::file(Path::new("/proc/self/exe")))?;
    let report = scratch.path().join("report.json");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    if reach == Reach::Closed {
        command.arg("--net");
    }
    // The first process of the namespace must reap what daemons orphan: a shell does.
    command.args(["--", "bash", "-c", r#""$@"; exit $?"#, "lab"]).arg(program).arg(LAB);
    command.args([scratch.path(), &report, ours.program(), ours.home()]);
    command.arg(if reach == Reach::Closed { "closed" } else { "open" });
    command.arg(runs.unwrap_or_default().to_string()).args(rows.iter().map(|row| row.name()));

    let mut child = command.spawn().map_err(|source| tool::start_failure(&command, source))?;
    scratch.lab_began(child.id())?;
    let status = child.wait().map_err(|source| tool::start_failure(&command, source))?;
    scratch.lab_ended(child.id())?;
    if !status.success() {
        return Err(Failure::unexpected("the lab", status.to_string()));
    }
    let text = std::fs::read_to_string(&report).map_err(Failure::file(&report))?;
    let value =
        serde_json::from_str(&text).map_err(|error| Failure::unexpected("report.json", error.to_string()))?;
    report::from_json(&value)
}

/// The hidden chore: sets the lab up, runs the rows, writes the report.
pub(crate) fn inside(arguments: &[String]) -> Result<(), Failure> {
    let [folder, report, program, home, reach, runs, rows @ ..] = arguments else {
        return Err(Failure::Usage(format!("{LAB} is started by `bench`")));
    };
    let reach = if reach == "closed" { Reach::Closed } else { Reach::Open };
    let lab = Lab {
        folder: folder.into(),
        ours: Ours::new(program.into(), home.into()),
        runs: runs.parse().ok().filter(|runs| *runs > 0),
        reach,
        docker: OnceCell::new(),
        podman: OnceCell::new(),
        buildah: OnceCell::new(),
    };
    lab.furnish()?;
    let mut outcomes = Vec::new();
    for row in rows.iter().filter_map(|name| Row::named(name)) {
        outcomes.extend(rows::run(row, &lab)?);
    }
    std::fs::write(report, report::to_json(&outcomes).to_string()).map_err(Failure::file(Path::new(report)))
}

impl Lab {
    /// Ours.
    pub(crate) fn ours(&self) -> &Ours {
        &self.ours
    }

    /// Whether it has the host's network.
    pub(crate) fn reach(&self) -> Reach {
        self.reach
    }

    /// The number of rounds the caller wants, or the row's own.
    pub(crate) fn rounds(&self, own: usize) -> usize {
        self.runs.unwrap_or(own)
    }

    /// The number of rounds of something slow.
    pub(crate) fn few_rounds(&self, own: usize) -> usize {
        self.runs.map_or(own, |runs| runs.min(own))
    }

    /// A folder of this name in the run's folder, made where absent.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(Failure::file(&folder))?;
        Ok(folder)
    }

    /// The root file system of a built-in template, as other programs get it.
    pub(crate) fn root(&self, template: &'static str) -> Result<Root, Failure> {
        Root::of(template, self)
    }

    /// Docker, its daemon started on first use, and its image of `root`; or why not.
    pub(crate) fn docker(&self, root: &Root) -> Result<(&Docker, String), String> {
        let docker = self.docker.get_or_init(|| Docker::start(self)).as_ref().map_err(Clone::clone)?;
        Ok((docker, docker.image(root).map_err(|failure| failure.to_string())?))
    }

    /// Podman and its image of `root`; or why not.
    pub(crate) fn podman(&self, root: &Root) -> Result<(&Podman, String), String> {
        let podman = self.podman.get_or_init(|| Podman::new(self)).as_ref().map_err(Clone::clone)?;
        Ok((podman, podman.image(root).map_err(|failure| failure.to_string())?))
    }

    /// Buildah and its image of `root`; or why not.
    pub(crate) fn buildah(&self, root: &Root) -> Result<(&Buildah, String), String> {
        let buildah = self.buildah.get_or_init(|| Buildah::new(self)).as_ref().map_err(Clone::clone)?;
        Ok((buildah, buildah.image(root).map_err(|failure| failure.to_string())?))
    }

    fn furnish(&self) -> Result<(), Failure> {
        self.layer("/etc")?;
        self.layer("/var/lib")?;
        self.fresh_run()?;
        mount(&["-t", "tmpfs", "tmpfs", "/dev/shm"])?;
        hide_empty_cgroup2();
        if self.reach == Reach::Closed {
            dead_end()?;
        }
        Ok(())
    }

    /// What is written below `place` goes to the run's folder.
    fn layer(&self, place: &str) -> Result<(), Failure> {
        let name = place.trim_start_matches('/').replace('/', "-");
        let upper = self.folder(&format!("layers/{name}/upper"))?;
        let work = self.folder(&format!("layers/{name}/work"))?;
        let options = format!("lowerdir={place},upperdir={},workdir={}", upper.display(), work.display());
        mount(&["-t", "overlay", "overlay", "-o", &options, place])
    }

    /// An empty `/run`, where the resolver's file stays readable.
    fn fresh_run(&self) -> Result<(), Failure> {
        let resolver = Path::new("/etc/resolv.conf");
        let target = resolver.canonicalize().ok();
        let text = std::fs::read(resolver).unwrap_or_default();
        mount(&["-t", "tmpfs", "tmpfs", "/run"])?;
        if let Some(target) = target.filter(|target| target.starts_with("/run")) {
            let folder = target.parent().unwrap_or(Path::new("/run"));
            std::fs::create_dir_all(folder).map_err(Failure::file(folder))?;
            std::fs::write(&target, text).map_err(Failure::file(&target))?;
        }
        Ok(())
    }
}

/// A version 2 hierarchy without controllers beside the version 1 ones confuses crun; nobody needs it.
fn hide_empty_cgroup2() {
    let unified = Path::new("/sys/fs/cgroup/unified");
    let controllers = std::fs::read_to_string(unified.join("cgroup.controllers"));
    let is_useful = |text: &str| text.split_whitespace().any(|controller| controller != "hugetlb");
    if controllers.is_ok_and(|text| !is_useful(&text)) {
        attempt(Command::new("umount").arg(unified));
    }
}

/// A network that looks like one (loopback, a default route) and leads nowhere.
fn dead_end() -> Result<(), Failure> {
    for words in [
        "link set lo up",
        "link add uplink type veth peer name nowhere",
        "address add 198.51.100.2/24 dev uplink",
        "link set uplink up",
        "link set nowhere up",
        "route add default via 198.51.100.1",
    ] {
        quiet(Command::new("ip").args(words.split(' ')))?;
    }
    // `/sys/class/net` shows the network of whoever mounted it; the hierarchies below stay where they were.
    for words in [
        "-t tmpfs tmpfs /mnt",
        "--rbind /sys/fs/cgroup /mnt",
        "-t sysfs sysfs /sys",
        "--rbind /mnt /sys/fs/cgroup",
    ] {
        mount(&words.split(' ').collect::<Vec<_>>())?;
    }
    quiet(Command::new("umount").args(["--lazy", "/mnt"])).map(drop)
}

fn mount(arguments: &[&str]) -> Result<(), Failure> {
    quiet(Command::new("mount").args(arguments)).map(drop)
}
