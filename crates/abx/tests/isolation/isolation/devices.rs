//! Devices: those of a terminal program, and no others.

use crate::cell::{EVERYBODY, all_refused, cell, python};
use crate::lab;

const NODES: &str = r#"
for kind, name, major, minor in [
    ("c", "mem", 1, 1), ("c", "port", 1, 4), ("c", "null", 1, 3), ("c", "kmsg", 1, 11), ("c", "console", 5, 1),
    ("c", "loop-control", 10, 237), ("c", "fuse", 10, 229), ("c", "kvm", 10, 232), ("c", "tun", 10, 200),
    ("c", "uinput", 10, 223), ("c", "vhost-vsock", 10, 241), ("c", "tty1", 4, 1), ("c", "ttyS0", 4, 64),
    ("b", "loop0", 7, 0), ("b", "sda", 8, 0), ("b", "vda", 254, 0), ("b", "vda253", 253, 0), ("b", "ram0", 1, 0),
]:
    mode = {"c": 0o020666, "b": 0o060666}[kind]
    for folder in ("/tmp", "/dev", "/dev/shm", "/run", "/home/user"):
        def make():
            path = f"{folder}/node-{name}"
            os.mknod(path, mode, os.makedev(major, minor))
            os.unlink(path)
        attempt(f"{folder} {name}", make)
"#;

#[test]
fn no_device_is_made() {
    lab::run("devices::no_device_is_made", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, NODES, &["EPERM", "EACCES"]);
    });
}

const OPENED: &str = r#"
for name in """mem kmem port kmsg console tty0 tty1 ttyS0 hvc0 vda vda1 sda sda1 nvme0n1 loop0 loop1 loop-control
fuse kvm net/tun vhost-vsock vhost-net vsock uinput input/event0 snd/timer dri/card0 nvram rtc0 hpet watchdog
mapper/control btrfs-control cuse ptp0 userfaultfd cpu_dma_latency udmabuf dma_heap/system autofs rfkill""".split():
    attempt(name, lambda: opened("/dev/" + name, os.O_RDONLY | os.O_NONBLOCK))
"#;

#[test]
fn none_of_the_hosts_devices_is_there() {
    lab::run("devices::none_of_the_hosts_devices_is_there", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, OPENED, &["ENOENT"]);
        let there = sandbox.root_sh("find /dev -type c -o -type b | grep -v /dev/pts/ | sort");
        let expected =
            ["full", "null", "random", "tty", "urandom", "zero"].map(|name| format!("/dev/{name}\n"));
        assert_eq!(there, expected.concat());
    });
}

/// On a terminal of its own: characters typed as if by somebody else, and the console taken.
const TERMINAL: &str = r#"
import fcntl, pty, termios
def asked(request, argument):
    ours, theirs = pty.openpty()
    def child():
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        fcntl.ioctl(theirs, request, argument)
    in_child(child)
attempt("TIOCSTI", lambda: asked(termios.TIOCSTI, b"x"))
attempt("TIOCLINUX", lambda: asked(0x541c, b"\x03"))
attempt("TIOCCONS", lambda: asked(0x541d, b""))
attempt("TIOCSTI in the upper half", lambda: call(16, 0, ctypes.c_ulong(0x1_0000_5412), b"x"))
"#;

#[test]
fn nobody_types_into_a_terminal() {
    lab::run("devices::nobody_types_into_a_terminal", |abx| {
        let sandbox = cell(abx);
        all_refused(abx, &sandbox, TERMINAL, &["EPERM"]);
    });
}

/// A file that makes its owner's program root's, laid on every file system that can be written to: inside it does what
/// it says, and that is no more than root inside may.
#[test]
fn a_program_of_root_is_root_inside_only() {
    lab::run("devices::a_program_of_root_is_root_inside_only", |abx| {
        let sandbox = cell(abx);
        sandbox.root_sh(
            "for folder in /home/user /dev/shm /run /tmp; do cp /usr/bin/python3.11 $folder/raise; chmod 6755 $folder/raise; done",
        );
        let kernel_id = |path: &str| {
            sandbox.sh(&format!(
                "{path}/raise -c 'import os; print(os.geteuid(), os.getegid(), open(\"/proc/self/uid_map\").read().split()[1])'"
            ))
        };
        for path in ["/home/user", "/tmp"] {
            let told = kernel_id(path);
            let numbers: Vec<u32> =
                told.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            assert!(numbers[..2] == [0, 0] && numbers[2] >= 1 << 20, "{path}: {told}");
        }
        // In memory nothing is raised, and what is shared there cannot be executed.
        let ran = sandbox.exec(&["/run/raise", "-c", "import os; print(os.geteuid())"]);
        assert_eq!(ran.stdout, "1000\n", "{ran:#?}");
        let ran = sandbox.exec(&["/dev/shm/raise", "-c", ""]);
        assert_ne!(ran.status, Some(0), "{ran:#?}");
        for user in EVERYBODY {
            assert_eq!(
                python(abx, &sandbox, user, "print(open('/proc/self/setgroups').read().strip())"),
                "allow\n"
            );
        }
    });
}
