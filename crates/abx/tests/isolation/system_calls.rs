//! System calls that reach past every namespace, or that only the kernel's weak spots are good for.

use crate::cell::{all_refused, attempts, cell};
use crate::lab;

/// With arguments that change nothing where they are accepted.
const CALLS: &str = r#"
null = ctypes.c_void_p(0)
big = ctypes.create_string_buffer(256)
attempt("add_key", lambda: call(248, b"user", b"abx", b"x", 1, -1))
attempt("request_key", lambda: call(249, b"user", b"abx", null, -1))
attempt("keyctl", lambda: call(250, 0, -1, 0))
attempt("bpf", lambda: call(321, 0, big, 72))
attempt("perf_event_open", lambda: call(298, big, 0, -1, -1, 0))
attempt("userfaultfd", lambda: call(323, 1))
attempt("kexec_load", lambda: call(246, 0, 0, null, 0))
attempt("kexec_file_load", lambda: call(320, -1, -1, 0, null, 0))
attempt("init_module", lambda: call(175, null, 0, b""))
attempt("finit_module", lambda: call(313, -1, b"", 0))
attempt("delete_module", lambda: call(176, b"abx_no_such_module", 0))
attempt("reboot", lambda: call(169, 0xfee1dead, 672274793, 0, null))
attempt("settimeofday", lambda: call(164, null, null))
attempt("clock_settime", lambda: call(227, 0, (ctypes.c_long * 2)(int(time.time()), 0)))
attempt("clock_adjtime", lambda: call(305, 0, big))
attempt("sethostname", lambda: call(170, b"other", 5))
attempt("setdomainname", lambda: call(171, b"other", 5))
attempt("syslog", lambda: call(103, 3, big, 256))
attempt("acct", lambda: call(163, null))
attempt("vhangup", lambda: in_child(lambda: call(153)))
attempt("ioperm", lambda: call(173, 0x80, 1, 1))
attempt("iopl", lambda: call(172, 3))
attempt("swapoff", lambda: call(168, b"/none"))
attempt("lookup_dcookie", lambda: call(212, 0, big, 256))
attempt("move_pages", lambda: call(279, 0, 0, null, null, null, 0))
attempt("personality", lambda: in_child(lambda: call(135, 0x0400000)))
attempt("uselib", lambda: call(134, b"/lib/x86_64-linux-gnu/libc.so.6"))
attempt("sysfs", lambda: call(139, 3))
attempt("ustat", lambda: call(136, 1, big))
attempt("nfsservctl", lambda: call(180, 0, null, null))
attempt("io_uring_setup", lambda: call(425, 1, big))
attempt("io_uring_enter", lambda: call(426, -1, 0, 0, 0, null))
attempt("clone3", lambda: call(435, null, 0))
attempt("a call of x32", lambda: call(0x40000000 | 39))
"#;

#[test]
fn calls_that_reach_past_the_namespaces_are_refused() {
    lab::run("system_calls::calls_that_reach_past_the_namespaces_are_refused", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, CALLS, &["EPERM", "ENOSYS"]);
    });
}

/// `unshare`, `clone` and `setns`, each kind of namespace; and what a namespace of users would allow.
const NAMESPACES: &str = r#"
kinds = {"mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
         "pid": 0x20000000, "net": 0x40000000, "time": 0x80}
for name, flag in kinds.items():
    attempt(f"unshare {name}", lambda: in_child(lambda: call(272, flag)))
    attempt(f"unshare user and {name}", lambda: in_child(lambda: call(272, flag | 0x10000000)))
    if name != "time":
        def clone():
            child = call(56, flag | signal.SIGCHLD, ctypes.c_void_p(0), ctypes.c_void_p(0), ctypes.c_void_p(0), ctypes.c_void_p(0))
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        attempt(f"clone {name}", lambda: in_child(clone))
for name in os.listdir("/proc/self/ns"):
    attempt(f"setns {name}", lambda: in_child(lambda: call(308, os.open(f"/proc/self/ns/{name}", os.O_RDONLY), 0)))
attempt("setns of process 1", lambda: in_child(lambda: call(308, os.pidfd_open(1), 0x20000)))
"#;

#[test]
fn no_namespace_is_made_or_entered() {
    lab::run("system_calls::no_namespace_is_made_or_entered", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, NAMESPACES, &["EPERM"]);
        for command in [
            "unshare -U true",
            "unshare -Ur mount -t tmpfs x /mnt",
            "unshare -m true",
            "nsenter -t 1 -m true",
        ] {
            let ran = sandbox.exec(&["sh", "-c", command]);
            assert!(ran.status.is_some_and(|status| status > 0), "{command}: {ran:#?}");
        }
    });
}

/// The same numbers mean other calls in the instruction set of old, which a filter by number would miss.
const OLD_CALLS: &str = r#"
import mmap
def old(number):
    # mov eax, number; int 0x80; ret
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8" + struct.pack("<I", number) + b"\xcd\x80\xc3")
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    result = function()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
for name, number in {"getpid": 20, "mount": 21, "unshare": 310, "keyctl": 288, "socketcall": 102}.items():
    attempt(name, lambda: in_child(lambda: old(number)))
"#;

#[test]
fn the_old_instruction_set_knows_no_calls() {
    lab::run("system_calls::the_old_instruction_set_knows_no_calls", |abx| {
        let sandbox = cell(abx);
        // A kernel without it kills who tries.
        all_refused(abx, &sandbox, OLD_CALLS, &["ENOSYS", "EINTR"]);
    });
}

/// Families and protocols of sockets, most of which would load a module into the kernel of everybody.
const SOCKETS: &str = r#"
for family in [3, 4, 5, 6, 8, 9, 11, 12, 15, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
               38, 39, 40, 41, 42, 43, 44, 45]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        attempt(f"family {family} kind {kind}", lambda: os.close(call(41, family, kind, 0)))
    pair = (ctypes.c_int * 2)()
    attempt(f"pair of family {family}", lambda: call(53, family, socket.SOCK_STREAM, 0, pair))
"#;

#[test]
fn sockets_of_odd_protocols_are_unknown() {
    lab::run("system_calls::sockets_of_odd_protocols_are_unknown", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, SOCKETS, &["EAFNOSUPPORT"]);
    });
}

/// What ordinary programs need is there all the same.
#[test]
fn ordinary_calls_are_allowed() {
    lab::run("system_calls::ordinary_calls_are_allowed", |abx| {
        let sandbox = cell(abx);
        let script = r#"
attempt("unix", lambda: socket.socketpair())
attempt("inet", lambda: socket.socket())
attempt("inet6", lambda: socket.socket(socket.AF_INET6))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
attempt("low port", lambda: socket.create_server(("127.0.0.1", 80)))
attempt("chroot by root", lambda: in_child(lambda: os.chroot("/tmp")) if os.getuid() == 0 else None)
attempt("memfd", lambda: os.memfd_create("x"))
attempt("shared memory", lambda: __import__("multiprocessing.shared_memory").shared_memory.SharedMemory(create=True, size=4096).unlink())
attempt("ptrace of a child", lambda: in_child(lambda: call(101, 0, 0, 0, 0)))
attempt("inotify", lambda: os.close(libc.inotify_init()))
attempt("locked memory", lambda: call(149, ctypes.create_string_buffer(4096), 4096))
"#;
        for user in crate::cell::EVERYBODY {
            let verdicts = attempts(abx, &sandbox, user, script);
            let refused: Vec<_> = verdicts.iter().filter(|(_, verdict)| *verdict != "came through").collect();
            assert!(refused.is_empty(), "as {user}: {refused:?}");
        }
    });
}
