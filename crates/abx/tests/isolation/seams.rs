//! Where host and sandbox touch: the daemon's socket, descriptors, the environment, names of the host.

use crate::cell::{EVERYBODY, cell, python};
use crate::lab;

#[test]
fn no_descriptor_or_variable_of_the_host_is_handed_in() {
    lab::run("seams::no_descriptor_or_variable_of_the_host_is_handed_in", |abx| {
        let mut command = abx.command(&["create", "base", "--network", "none", "--timeout", "240"]);
        let id = abx_test::run({
            command.env("ABX_TEST_SECRET", "of-the-host");
            command
        })
        .success();
        let sandbox = abx.adopt(id.trim());
        let all = sandbox.root_sh("cat /proc/*/environ | tr '\\0' '\\n'");
        assert!(!all.contains("of-the-host"), "{all}");
        for user in EVERYBODY {
            let descriptors = python(
                abx,
                &sandbox,
                user,
                "print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])",
            );
            assert_eq!(descriptors, "[0, 1, 2]\n", "as {user}");
        }
        // The daemon's own are sockets, pipes and nothing of the host's files but the null device.
        let held = sandbox.root_sh("for fd in /proc/1/fd/*; do readlink $fd || true; done");
        let files: Vec<_> =
            held.lines().filter(|line| line.starts_with('/') && *line != "/dev/null").collect();
        assert_eq!(files, [""; 0], "{held}");
        // Nor does a folder of the host lie open.
        let directory = python(
            abx,
            &sandbox,
            "root",
            "print(os.readlink('/proc/1/cwd'), os.path.samefile('/proc/1/cwd', '/'))",
        );
        assert_eq!(directory, "/ True\n");
    });
}

#[test]
fn the_daemon_is_not_to_be_reached_from_inside() {
    lab::run("seams::the_daemon_is_not_to_be_reached_from_inside", |abx| {
        let sandbox = cell(abx);
        // It listens on a socket that has no name inside, and on no port.
        assert_eq!(sandbox.root_sh("awk 'NR > 1 && $4 == \"0A\"' /proc/net/tcp /proc/net/tcp6"), "");
        let named = sandbox.root_sh("awk 'NR > 1 && NF > 7 { print $8 }' /proc/net/unix");
        assert!(named.lines().all(|name| !name.starts_with('@')), "{named}");
        for name in named.lines() {
            let ran = sandbox.exec(&["test", "-e", name]);
            assert_ne!(ran.status, Some(0), "{name} is there");
        }
    });
}

/// Layers hold programs that make their user root, and on the host they would make him the host's.
#[test]
fn another_user_of_the_host_reaches_neither_layers_nor_sockets_nor_disks() {
    lab::run("seams::another_user_of_the_host_reaches_neither_layers_nor_sockets_nor_disks", |abx| {
        use std::os::unix::process::CommandExt;
        let sandbox = cell(abx);
        let entry = abx.state().join("sandboxes").join(&sandbox.id);
        let layer = abx.state().join("store/layers").read_dir().expect("layers").flatten().next();
        let paths = [
            layer.expect("a layer").path(),
            entry.join("guest.sock"),
            entry.join("control.sock"),
            entry.join("disk.ext4"),
            entry.join("sandbox.json"),
        ];
        for path in paths {
            let is_reached = |user: u32| {
                let mut command = std::process::Command::new("test");
                command.arg("-e").arg(&path).uid(user).gid(user);
                command.status().expect("test runs").success()
            };
            assert!(is_reached(0), "{} is there", path.display());
            assert!(!is_reached(65534), "{} is reached by nobody", path.display());
        }
    });
}

/// A core is written inside or not at all.
#[test]
fn a_crash_leaves_nothing_outside() {
    lab::run("seams::a_crash_leaves_nothing_outside", |abx| {
        let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").expect("pattern");
        if pattern.starts_with('|') {
            return abx_test::skip("cores of this host go to a program");
        }
        let sandbox = cell(abx);
        let mark = std::path::Path::new("/tmp/abx-isolation-core");
        let script = "import resource\nresource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))\nos.chdir('/tmp')\nos.kill(os.getpid(), 11)";
        let program = format!("{}\n{script}", include_str!("prelude.py"));
        let ran = abx.run(&["exec", &sandbox.id, "--", "python3", "-c", &program]);
        assert_eq!(ran.status, Some(128 + 11), "{ran:#?}");
        assert!(!mark.exists());
    });
}
