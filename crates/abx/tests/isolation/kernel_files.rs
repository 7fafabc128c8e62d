//! Files through which the kernel is told what to do: none can be opened for writing, none tells a secret.

use crate::cell::{EVERYBODY, all_refused, attempts, cell, python};
use crate::lab;

/// Opened for writing, never written to.
const SETTINGS: &str = r#"
for path in """
/proc/sys/kernel/core_pattern
/proc/sys/kernel/hostname
/proc/sys/kernel/domainname
/proc/sys/kernel/modprobe
/proc/sys/kernel/sysrq
/proc/sys/kernel/panic
/proc/sys/kernel/printk
/proc/sys/kernel/pid_max
/proc/sys/kernel/ns_last_pid
/proc/sys/kernel/randomize_va_space
/proc/sys/kernel/perf_event_paranoid
/proc/sys/kernel/msgmax
/proc/sys/kernel/shmmax
/proc/sys/vm/drop_caches
/proc/sys/vm/overcommit_memory
/proc/sys/vm/panic_on_oom
/proc/sys/fs/file-max
/proc/sys/fs/suid_dumpable
/proc/sys/fs/binfmt_misc/register
/proc/sys/fs/mqueue/msg_max
/proc/sys/net/ipv4/ip_forward
/proc/sys/net/core/somaxconn
/proc/sys/user/max_user_namespaces
/proc/sysrq-trigger
/proc/irq/default_smp_affinity
/proc/bus/pci/devices
/proc/fs/ext4
/proc/mtrr
/proc/kcore
/proc/kmsg
/proc/keys
/proc/timer_list
/proc/dynamic_debug/control
/sys/kernel/uevent_helper
/sys/kernel/uevent_seqnum
/sys/kernel/mm/ksm/run
/sys/kernel/mm/transparent_hugepage/enabled
/sys/kernel/debug
/sys/kernel/tracing/trace
/sys/kernel/security
/sys/kernel/livepatch
/sys/fs/cgroup/release_agent
/sys/fs/cgroup/memory/release_agent
/sys/fs/cgroup/memory/notify_on_release
/sys/fs/cgroup/cgroup.procs
/sys/fs/bpf
/sys/fs/fuse/connections
/sys/power/state
/sys/power/disk
/sys/module/kernel/parameters/panic
/sys/module/loop/parameters/max_loop
/sys/class/net/lo/mtu
/sys/block/vda/queue/scheduler
/sys/devices/system/cpu/cpu0/online
/sys/devices/system/memory/probe
/sys/firmware/efi/vars
/sys/bus/pci/rescan
""".split():
    attempt(path, lambda: opened(path))
"#;

/// Absent, read-only, not ours, or a folder.
const CLOSED: [&str; 6] = ["ENOENT", "EROFS", "EACCES", "EPERM", "EISDIR", "ENOTDIR"];

#[test]
fn no_setting_of_the_kernel_can_be_opened_for_writing() {
    lab::run("kernel_files::no_setting_of_the_kernel_can_be_opened_for_writing", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, SETTINGS, &CLOSED);
    });
}

/// Every file below /proc and /sys that root inside can open for writing at all.
const WRITABLE: &str = r#"
found = set()
for top in ("/proc", "/sys"):
    for folder, folders, files in os.walk(top):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdigit() and name not in ("self", "thread-self")]
        for name in files:
            path = os.path.join(folder, name)
            try:
                opened(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            except OSError:
                continue
            found.add(path)
print("\n".join(sorted(found)))
"#;

#[test]
fn of_all_files_of_the_kernel_none_else_is_open_either() {
    lab::run("kernel_files::of_all_files_of_the_kernel_none_else_is_open_either", |abx| {
        let sandbox = cell(abx);
        for user in EVERYBODY {
            let found = python(abx, &sandbox, user, WRITABLE);
            // Pressure of the whole machine may be watched by everybody, by no more than the clock of the averages.
            let other: Vec<_> = found
                .lines()
                .filter(|path| !path.is_empty() && !path.starts_with("/proc/pressure/"))
                .collect();
            assert_eq!(other, [""; 0], "as {user}");
        }
    });
}

/// Read, and looked at for what must not be there.
const SECRETS: &str = r#"
def secret(path, marks):
    text = open(path, "rb").read(1 << 20)
    if not marks(text):
        raise OSError(errno.ENODATA, "nothing")

zeros = lambda text: text.split()[0].strip(b"0-")
attempt("/proc/kallsyms", lambda: secret("/proc/kallsyms", zeros))
attempt("/proc/iomem", lambda: secret("/proc/iomem", zeros))
attempt("/proc/ioports", lambda: secret("/proc/ioports", zeros))
attempt("/proc/modules", lambda: secret("/proc/modules", lambda text: zeros(text.split()[5]) if text else b""))
attempt("/sys/kernel/notes", lambda: secret("/sys/module/kernel/sections/.text", zeros))
for path in ["/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/kpagecount", "/proc/kpageflags",
             "/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo", "/proc/1/stack", "/proc/self/stack",
             "/proc/1/syscall", "/sys/kernel/slab", "/sys/firmware/dmi/tables/DMI", "/proc/acpi/wakeup", "/proc/scsi/scsi",
             "/dev/kmsg", "/dev/mem", "/proc/sched_debug", "/sys/devices/virtual/powercap"]:
    attempt(path, lambda: secret(path, bool))
"#;

#[test]
fn addresses_and_logs_of_the_kernel_are_not_told() {
    lab::run("kernel_files::addresses_and_logs_of_the_kernel_are_not_told", |abx| {
        let sandbox = cell(abx);
        for user in EVERYBODY {
            let verdicts = attempts(abx, &sandbox, user, SECRETS);
            let told: Vec<_> = verdicts
                .iter()
                .filter(|(name, verdict)| {
                    // Where a thread of one's own waits is told to the thread's owner, without addresses.
                    verdict.as_str() == "came through" && name.as_str() != "/proc/1/syscall"
                })
                .collect();
            assert!(told.is_empty(), "as {user}: {told:?}");
        }
    });
}

/// Nobody makes himself less likely to be killed for lack of memory than the host's own processes.
const SCORES: &str = r#"
def write(path, text):
    with open(path, "w") as file:
        file.write(text)

attempt("own score below zero", lambda: write("/proc/self/oom_score_adj", "-1"))
attempt("own score of old below zero", lambda: write("/proc/self/oom_adj", "-17"))
attempt("a new mapping of users", lambda: write("/proc/self/uid_map", "0 0 1"))
attempt("a new mapping of groups", lambda: write("/proc/self/gid_map", "0 0 1"))
attempt("a new mapping of projects", lambda: write("/proc/self/projid_map", "0 0 1"))
attempt("groups denied", lambda: write("/proc/self/setgroups", "deny"))
attempt("timens", lambda: write("/proc/self/timens_offsets", "monotonic 1000 0"))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
attempt("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("hard limit", lambda: call(302, 0, 7, (ctypes.c_ulong * 2)(1 << 30, 1 << 30), None))
attempt("locked memory", lambda: call(149, ctypes.c_void_p(0), ctypes.c_size_t(1 << 40)))
"#;

#[test]
fn nobody_raises_himself_above_the_hosts_processes() {
    lab::run("kernel_files::nobody_raises_himself_above_the_hosts_processes", |abx| {
        let sandbox = cell(abx);
        let words = ["EPERM", "EACCES", "EINVAL", "ENOMEM"];
        all_refused(abx, &sandbox, SCORES, &words);
    });
}
