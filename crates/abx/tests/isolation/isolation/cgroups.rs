//! Control groups: neither seen nor changed, so no `release_agent`, and nobody leaves his limits.

use crate::cell::{EVERYBODY, all_refused, cell, python};
use crate::lab;

#[test]
fn a_sandbox_is_the_top_of_what_it_sees_and_writes_to_none() {
    lab::run("cgroups::a_sandbox_is_the_top_of_what_it_sees_and_writes_to_none", |abx| {
        let sandbox = cell(abx);
        for user in EVERYBODY {
            let groups = python(abx, &sandbox, user, "print(open('/proc/self/cgroup').read(), end='')");
            assert!(groups.lines().all(|line| line.ends_with(":/")), "{groups}");
            let mounts = python(abx, &sandbox, user, "print(open('/proc/self/mounts').read(), end='')");
            let writable: Vec<_> = mounts
                .lines()
                .map(|line| line.split(' ').collect::<Vec<_>>())
                .filter(|fields| {
                    fields[2].starts_with("cgroup") && !fields[3].split(',').any(|word| word == "ro")
                })
                .collect();
            assert!(writable.is_empty(), "{writable:?}");
        }
    });
}

/// The files of the classic way out, wherever they might be.
const FILES: &str = r#"
names = ["release_agent", "notify_on_release", "cgroup.procs", "tasks", "devices.allow", "memory.limit_in_bytes", "memory.max",
         "pids.max", "cgroup.subtree_control", "cgroup.kill", "cgroup.freeze"]
for place in ["", "memory/", "pids/", "devices/", "rdma/", "cpu/", "freezer/", "unified/", "systemd/", "../cgroup/", "memory/../../cgroup/memory/abx/"]:
    for name in names:
        path = f"/sys/fs/cgroup/{place}{name}"
        attempt(path, lambda: opened(path))
    attempt(f"mkdir {place}", lambda: os.mkdir(f"/sys/fs/cgroup/{place}abx-attempt"))
"#;

#[test]
fn no_file_of_a_group_can_be_opened_for_writing() {
    lab::run("cgroups::no_file_of_a_group_can_be_opened_for_writing", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, FILES, &["ENOENT", "EROFS", "EACCES", "EPERM"]);
    });
}
