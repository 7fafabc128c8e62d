//! All layouts, against a double that keeps the kernel's rules.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::*;
use crate::error::Feature;

const V1: &str = "\
30 25 0:31 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
31 25 0:32 / /sys/fs/cgroup/cpu,cpuset rw - cgroup cgroup rw,cpu,cpuset
32 25 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
33 25 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer
34 25 0:35 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
";
const EMPTY_V2: &str = "35 25 0:36 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const V2: &str = "35 25 0:36 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const LIMITS: Limits = Limits { cpu: Some(1.5), memory: Some(64), pids: Some(100) };

/// Control files by path.
#[derive(Clone, Debug, Default)]
struct Double(Rc<RefCell<BTreeMap<PathBuf, String>>>);

impl Double {
    fn with(files: &[(&str, &str)]) -> Self {
        let double = Self::default();
        for (path, text) in files {
            double.put(path, text);
        }
        double
    }

    /// A v2 mount, real root or not (which must not have processes of its own while it hands out).
    fn v2(procs: &str) -> Self {
        Self::with(&[
            ("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids"),
            ("/sys/fs/cgroup/cgroup.subtree_control", ""),
            ("/sys/fs/cgroup/cgroup.procs", procs),
        ])
    }

    fn put(&self, path: impl AsRef<Path>, text: &str) {
        self.0.borrow_mut().insert(path.as_ref().to_owned(), text.to_owned());
    }

    fn get(&self, path: &str) -> Option<String> {
        self.0.borrow().get(Path::new(path)).cloned()
    }

    fn exists(&self, directory: &Path) -> bool {
        self.0.borrow().contains_key(&directory.join("cgroup.procs"))
    }

    fn is_v2(&self, directory: &Path) -> bool {
        self.0.borrow().contains_key(&directory.join("cgroup.subtree_control"))
    }

    /// What appears in a new group.
    fn control_files(&self, directory: &Path) -> Vec<&'static str> {
        let parent = directory.parent().expect("parent");
        if !self.is_v2(parent) {
            return match directory.components().nth(4).and_then(|one| one.as_os_str().to_str()) {
                Some("memory") => {
                    vec!["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.usage_in_bytes"]
                }
                Some("cpu,cpuset") => {
                    vec!["cpu.cfs_period_us", "cpu.cfs_quota_us", "cpuset.cpus", "cpuset.mems"]
                }
                Some("pids") => vec!["pids.max", "pids.current"],
                _ => vec!["freezer.state"],
            };
        }
        let handed = self.0.borrow()[&parent.join("cgroup.subtree_control")].clone();
        let mut files = vec!["cgroup.subtree_control", "cgroup.freeze", "cgroup.events", "cgroup.kill"];
        for (controller, of_it) in [
            ("memory", &["memory.max", "memory.current", "memory.events"][..]),
            ("cpu", &["cpu.max"]),
            ("pids", &["pids.max", "pids.current", "pids.events"]),
        ] {
            if handed.split_whitespace().any(|one| one == controller) {
                files.extend(of_it);
            }
        }
        files
    }
}

fn refuse(errno: Errno) -> Result<(), SystemError> {
    Err(errno.into())
}

impl Files for Double {
    fn make(&self, directory: &Path) -> Result<(), SystemError> {
        if self.exists(directory) {
            return Ok(());
        }
        if directory.ends_with("abx/sandbox") && !self.exists(directory.parent().expect("parent")) {
            return refuse(Errno::NOENT);
        }
        for file in self.control_files(directory) {
            self.put(directory.join(file), "");
        }
        self.put(directory.join("cgroup.procs"), "");
        Ok(())
    }

    fn remove(&self, directory: &Path) -> Result<(), SystemError> {
        match self.0.borrow().get(&directory.join("cgroup.procs")) {
            None => return refuse(Errno::NOENT),
            Some(procs) if !procs.is_empty() => return refuse(Errno::BUSY),
            Some(_) => {}
        }
        self.0.borrow_mut().retain(|path, _| !path.starts_with(directory));
        Ok(())
    }

    fn write(&self, file: &Path, value: &str) -> Result<(), SystemError> {
        if !self.0.borrow().contains_key(file) {
            return refuse(Errno::NOENT);
        }
        let directory = file.parent().expect("parent");
        match file.file_name().and_then(|name| name.to_str()).expect("name") {
            "cgroup.subtree_control" => {
                if !self.0.borrow()[&directory.join("cgroup.procs")].is_empty() {
                    return refuse(Errno::BUSY);
                }
                self.put(file, &value.replace('+', ""));
            }
            "cgroup.procs" => {
                for (path, procs) in &mut *self.0.borrow_mut() {
                    if path.ends_with("cgroup.procs") {
                        *procs =
                            procs.lines().filter(|pid| *pid != value).map(|pid| format!("{pid}\n")).collect();
                    }
                }
                let procs = self.0.borrow()[file].clone();
                self.put(file, &format!("{procs}{value}\n"));
            }
            "cgroup.freeze" => {
                self.put(directory.join("cgroup.events"), &format!("populated 1\nfrozen {value}\n"))
            }
            "cgroup.kill" => self.put(directory.join("cgroup.procs"), ""),
            _ => self.put(file, value),
        }
        Ok(())
    }

    fn read(&self, file: &Path) -> Result<String, SystemError> {
        self.0.borrow().get(file).cloned().ok_or(SystemError::from(Errno::NOENT))
    }
}

fn create(mounts: &str, double: &Double) -> Result<Cgroups<Double>, IsolateError> {
    Cgroups::create_in("sandbox", &LIMITS, Layout::from_mounts(mounts, double), double.clone())
}

fn v1_host() -> Double {
    let cpuset = "/sys/fs/cgroup/cpu,cpuset";
    Double::with(&[(&format!("{cpuset}/cpuset.cpus"), "0-3\n"), (&format!("{cpuset}/cpuset.mems"), "0\n")])
}

#[test]
fn controllers_are_found_where_they_are() {
    let place = |double: &Double, mounts: &str| {
        let layout = Layout::from_mounts(mounts, double);
        Controller::ALL.map(|controller| {
            let hierarchy = layout.with(controller)?;
            Some((hierarchy.version, hierarchy.mount.file_name()?.to_str()?.to_owned()))
        })
    };
    let one = |name: &str| Some((Version::One, name.to_owned()));
    let two = |name: &str| Some((Version::Two, name.to_owned()));
    let split = [one("memory"), one("cpu,cpuset"), one("pids"), one("freezer")];
    assert_eq!(place(&Double::default(), V1), split);
    let hybrid = Double::with(&[("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb")]);
    assert_eq!(place(&hybrid, &format!("{V1}{EMPTY_V2}")), split);
    assert_eq!(place(&hybrid, &format!("{EMPTY_V2}{V1}")), split, "in any order");
    assert_eq!(place(&Double::v2(""), V2), [two("cgroup"), two("cgroup"), two("cgroup"), two("cgroup")]);
    let mixed = Double::with(&[("/sys/fs/cgroup/unified/cgroup.controllers", "memory pids")]);
    let mounts = format!("{}{EMPTY_V2}", V1.lines().nth(1).expect("cpu").to_owned() + "\n");
    assert_eq!(place(&mixed, &mounts), [two("unified"), one("cpu,cpuset"), two("unified"), two("unified")]);
}

#[test]
fn v1_limits_are_written() {
    let double = v1_host();
    let cgroups = create(V1, &double).expect("groups");
    for (file, value) in [
        ("memory/abx/sandbox/memory.limit_in_bytes", "67108864"),
        ("memory/abx/sandbox/memory.memsw.limit_in_bytes", "67108864"),
        ("cpu,cpuset/abx/sandbox/cpu.cfs_quota_us", "150000"),
        ("cpu,cpuset/abx/cpuset.cpus", "0-3"),
        ("cpu,cpuset/abx/sandbox/cpuset.mems", "0"),
        ("pids/abx/sandbox/pids.max", "100"),
    ] {
        assert_eq!(double.get(&format!("/sys/fs/cgroup/{file}")).as_deref(), Some(value), "{file}");
    }
    let entry = cgroups.entry();
    assert_eq!((entry.moves.len(), entry.born), (4, None));
    cgroups.freeze().expect("freeze");
    assert_eq!(double.get("/sys/fs/cgroup/freezer/abx/sandbox/freezer.state").as_deref(), Some("FROZEN"));
    cgroups.remove().expect("remove");
    cgroups.remove().expect("twice");
    assert_eq!(double.get("/sys/fs/cgroup/memory/abx/sandbox/cgroup.procs"), None);
}

#[test]
fn v2_hands_controllers_down_and_limits() {
    let double = Double::v2("");
    let cgroups = create(V2, &double).expect("groups");
    for (file, value) in [
        ("cgroup.subtree_control", "memory cpu pids"),
        ("abx/cgroup.subtree_control", "memory cpu pids"),
        ("abx/sandbox/memory.max", "67108864"),
        ("abx/sandbox/cpu.max", "150000 100000"),
        ("abx/sandbox/pids.max", "100"),
    ] {
        assert_eq!(double.get(&format!("/sys/fs/cgroup/{file}")).as_deref(), Some(value), "{file}");
    }
    let entry = cgroups.entry();
    assert_eq!((entry.moves.len(), entry.born), (0, Some("/sys/fs/cgroup/abx/sandbox".into())));

    cgroups.attach(42).expect("attach");
    double.put("/sys/fs/cgroup/abx/sandbox/memory.current", "4096\n");
    double.put("/sys/fs/cgroup/abx/sandbox/memory.events", "low 0\noom 3\noom_kill 2\n");
    double.put("/sys/fs/cgroup/abx/sandbox/pids.events", "max 5\n");
    let stats = cgroups.stats();
    assert_eq!((stats.memory, stats.memory_limit, stats.oom_kills), (Some(4096), Some(64 << 20), 2));
    assert_eq!(stats.pids_refused, 5);

    cgroups.freeze().expect("freeze");
    cgroups.kill_all().expect("kill");
    cgroups.remove().expect("remove");
    assert_eq!(double.get("/sys/fs/cgroup/abx/sandbox/memory.max"), None);
}

#[test]
fn in_a_container_its_processes_move_into_a_leaf_first() {
    let double = Double::v2("1\n17\n");
    create(V2, &double).expect("groups");
    assert_eq!(double.get("/sys/fs/cgroup/abx-host/cgroup.procs").as_deref(), Some("1\n17\n"));
    assert_eq!(double.get("/sys/fs/cgroup/cgroup.subtree_control").as_deref(), Some("memory cpu pids"));
}

#[test]
fn each_limit_is_set_where_its_controller_is() {
    let double = v1_host();
    for (file, text) in [("controllers", "memory pids"), ("subtree_control", ""), ("procs", "")] {
        double.put(format!("/sys/fs/cgroup/unified/cgroup.{file}"), text);
    }
    let mounts = format!("{}\n{EMPTY_V2}", V1.lines().nth(1).expect("cpu"));
    let cgroups = create(&mounts, &double).expect("groups");
    assert_eq!(double.get("/sys/fs/cgroup/unified/abx/sandbox/memory.max").as_deref(), Some("67108864"));
    assert_eq!(double.get("/sys/fs/cgroup/unified/abx/sandbox/cpu.max"), None);
    assert!(double.get("/sys/fs/cgroup/cpu,cpuset/abx/sandbox/cpu.cfs_quota_us").is_some());
    let entry = cgroups.entry();
    assert_eq!((entry.moves.len(), entry.born.is_some()), (1, true));
}

#[test]
fn a_limit_nobody_enforces_is_an_error() {
    let double = v1_host();
    let without_memory = V1.lines().skip(1).collect::<Vec<_>>().join("\n");
    let error = create(&without_memory, &double).expect_err("no memory controller");
    assert!(matches!(error, IsolateError::Lacks { feature: Feature::MemoryCgroup, .. }), "{error:?}");
    assert_eq!(double.get("/sys/fs/cgroup/pids/abx/sandbox/pids.max"), None, "nothing is made");
}
