//! Mounts: what is mounted stays, nothing new is.

use crate::cell::{EVERYBODY, all_refused, cell, python};
use crate::lab;

/// What a mount needs to be harmless: a place of its own.
const CALLS: &str = r#"
os.makedirs("/tmp/place", exist_ok=True)
AT_FDCWD, BIND, REC, REMOUNT, DETACH = -100, 4096, 16384, 32, 2
null = ctypes.c_void_p(0)
attempt("tmpfs", lambda: call(165, b"x", b"/tmp/place", b"tmpfs", 0, null))
attempt("proc", lambda: call(165, b"x", b"/tmp/place", b"proc", 0, null))
attempt("sysfs", lambda: call(165, b"x", b"/tmp/place", b"sysfs", 0, null))
attempt("cgroup of version 1", lambda: call(165, b"x", b"/tmp/place", b"cgroup", 0, b"memory"))
attempt("cgroup of version 2", lambda: call(165, b"x", b"/tmp/place", b"cgroup2", 0, null))
attempt("devtmpfs", lambda: call(165, b"x", b"/tmp/place", b"devtmpfs", 0, null))
attempt("overlay", lambda: call(165, b"x", b"/tmp/place", b"overlay", 0, b"lowerdir=/etc:/usr"))
attempt("bind", lambda: call(165, b"/etc", b"/tmp/place", null, BIND | REC, null))
attempt("bind of pid 1's root", lambda: call(165, b"/proc/1/root", b"/tmp/place", null, BIND, null))
attempt("remount of /sys", lambda: call(165, b"x", b"/sys", null, REMOUNT | BIND, null))
attempt("remount of /proc/sys", lambda: call(165, b"x", b"/proc/sys", null, REMOUNT | BIND, null))
attempt("shared", lambda: call(165, b"x", b"/", null, 1 << 20, null))
attempt("umount of /proc/sys", lambda: call(166, b"/proc/sys", DETACH))
attempt("umount of the mask of /proc/keys", lambda: call(166, b"/proc/keys", DETACH))
attempt("umount of /etc/hosts", lambda: call(166, b"/etc/hosts", DETACH))
attempt("pivot_root", lambda: in_child(lambda: call(155, b"/tmp/place", b"/tmp/place")))
attempt("open_tree", lambda: call(428, AT_FDCWD, b"/etc", 1))
attempt("move_mount", lambda: call(429, AT_FDCWD, b"/etc/hosts", AT_FDCWD, b"/tmp/place", 0))
attempt("fsopen", lambda: call(430, b"tmpfs", 0))
attempt("fsmount", lambda: call(432, -1, 0, 0))
attempt("fspick", lambda: call(433, AT_FDCWD, b"/proc", 0))
attempt("mount_setattr", lambda: call(442, AT_FDCWD, b"/sys", 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32))
attempt("open_tree_attr", lambda: call(467, AT_FDCWD, b"/etc", 1, null, 0))
attempt("swapon", lambda: call(167, b"/tmp/place", 0))
attempt("quotactl", lambda: call(179, 0, null, 0, null))
attempt("fanotify", lambda: call(300, 0, 0))
attempt("open_by_handle_at", lambda: call(304, AT_FDCWD, (ctypes.c_uint32 * 34)(128, 1), 0))
"#;

#[test]
fn nothing_is_mounted_or_taken_off() {
    lab::run("mounts::nothing_is_mounted_or_taken_off", |abx| {
        let sandbox = cell(abx);
        let before = sandbox.sh("cat /proc/1/mountinfo");
        all_refused(abx, &sandbox, CALLS, &["EPERM", "ENOSYS"]);
        assert_eq!(sandbox.sh("cat /proc/1/mountinfo"), before);
    });
}

/// A root of one's own, left by climbing: the classic way out of `chroot`.
const CLIMB: &str = r#"
if os.getuid() == 0:
    os.makedirs("/tmp/box", exist_ok=True)
    before = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/box")
    os.fchdir(before)
    for _ in range(64):
        os.chdir("..")
    os.chroot(".")
print(sorted(os.listdir("/")), os.readlink("/proc/1/root"))
"#;

#[test]
fn above_the_root_there_is_nothing() {
    lab::run("mounts::above_the_root_there_is_nothing", |abx| {
        let sandbox = cell(abx);
        let ordinary = python(abx, &sandbox, "user", "print(sorted(os.listdir('/')))");
        for user in EVERYBODY {
            let climbed =
                python(abx, &sandbox, user, CLIMB.replace(", os.readlink(\"/proc/1/root\")", "").as_str());
            assert_eq!(climbed, ordinary, "as {user}");
        }
        for way in ["/proc/1/root", "/proc/self/root", "/proc/1/cwd/..", "/../../..", "/proc/1/task/1/root"] {
            let seen = abx
                .run(&["exec", &sandbox.id, "--user", "root", "--", "ls", "-a", &format!("{way}/")])
                .success();
            assert_eq!(seen, sandbox.sh("ls -a /"), "{way}");
        }
    });
}

#[test]
fn the_mounts_tell_of_nothing_else() {
    lab::run("mounts::the_mounts_tell_of_nothing_else", |abx| {
        // A mark of the host, which is no business of a sandbox.
        std::fs::create_dir_all("/run/abx-mark").expect("mark");
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "mark", "/run/abx-mark"]).status();
        assert!(mounted.expect("mount").success());
        let sandbox = cell(abx);
        for file in ["mountinfo", "mounts", "mountstats"] {
            let told = sandbox.root_sh(&format!("cat /proc/1/{file} /proc/self/{file}"));
            assert!(!told.contains("mark") && !told.contains("/sandboxes/"), "{told}");
        }
        let _ = std::process::Command::new("umount").arg("/run/abx-mark").status();
        let _ = std::fs::remove_dir("/run/abx-mark");
    });
}
