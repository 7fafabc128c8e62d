//! What a process inside sees and may do.

mod common;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use abx_isolate::{Bind, Disk, Ids, IsolateError, Relays, RuntimeFile, StepEnd, Upper};
use common::{BASE, Place, assert_clean, attempt, can_launch, run, upper};

const OK: StepEnd = StepEnd::Exited(0);

#[test]
fn it_is_alone_and_root_in_its_own_eyes() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let script = "echo $$; cat /proc/1/comm /proc/sys/kernel/hostname; id -u; id -G; ls /proc/self/fd | cat; \
                  cat /proc/self/uid_map; ls -d /proc/[0-9]* | cat; cat /proc/self/cgroup";
    let launch = place.launch("alone", script);
    let (end, output) = run(&launch);
    assert_eq!(end, OK);
    let lines: Vec<_> = output.lines().map(str::trim).collect();
    assert_eq!(lines[..5], ["2", "abx-init", "box", "0", "0"], "{output}");
    assert_eq!(lines[5..9], ["0", "1", "2", "3"], "3 is the listing itself: {output}");
    assert_eq!(lines[9].split_whitespace().collect::<Vec<_>>(), ["0", &BASE.to_string(), "65536"]);
    // Init, the shell, `ls` and, if it has begun, `cat`.
    let processes = lines.iter().filter(|line| line.starts_with("/proc/")).count();
    assert!((3..=4).contains(&processes), "{output}");
    assert!(lines.iter().any(|line| line.ends_with(":memory:/") || line == &"0::/"), "{output}");
    assert_clean(&launch);
}

#[test]
fn what_reaches_past_the_sandbox_is_refused() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let refused = |script: &str, reason: &str| {
        let (end, output) = run(&place.launch("refused", script));
        assert_ne!(end, OK, "{script}: {output}");
        assert!(output.contains(reason), "{script}: {output}");
    };
    refused("mount -t tmpfs x /tmp", "permission denied");
    refused("mount -o remount,rw /sys", "permission denied");
    refused("echo x > /proc/sys/kernel/hostname", "Read-only");
    refused("echo x > /sys/kernel/mm/ksm/run || echo x > /sys/power/state", "Read-only");
    for call in ["unshare", "clone", "keyctl", "bpf", "sethostname", "raw", "mknod", "tiocsti"] {
        refused(&format!("probe probe call {call}"), "Operation not permitted");
    }
    for call in ["clone3", "io_uring"] {
        refused(&format!("probe probe call {call}"), "not implemented");
    }
    assert_eq!(run(&place.launch("ping", "probe probe call ping")), (OK, String::new()));
}

#[test]
fn devices_of_an_image_do_not_work_and_ours_do() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let number = rustix::fs::makedev(1, 3);
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    let device = place.path("layer/null");
    rustix::fs::mknodat(rustix::fs::CWD, &device, rustix::fs::FileType::CharacterDevice, mode, number)
        .expect("mknod");
    let (end, output) =
        run(&place.launch("devices", "echo x > /dev/null && ls -l /dev/pts/ptmx; echo x > /null"));
    assert_ne!(end, OK);
    assert!(output.contains("crw-rw-rw-") && output.contains("Permission denied"), "{output}");
}

#[test]
fn ids_are_mapped_on_disk() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let script = "echo x > /tmp/new; stat -c %u /tmp/new /bin/sh; echo y >> /etc/old; stat -c %u /etc/old";
    std::fs::write(place.path("layer/etc/old"), "1").expect("file");
    let mut launch = place.launch("ids", script);
    assert_eq!(run(&launch), (OK, "0\n0\n0\n".to_owned()));
    let owner = |path: &str| std::fs::metadata(upper(&launch).join(path)).expect("written").uid();
    assert_eq!((owner("tmp/new"), owner("etc/old"), owner(".")), (BASE, BASE, BASE));

    launch = place.launch("identity", script);
    launch.ids = Ids::Identity;
    assert_eq!(run(&launch), (OK, "0\n0\n0\n".to_owned()));
    assert_eq!(std::fs::metadata(upper(&launch).join("tmp/new")).expect("written").uid(), 0);
}

#[test]
fn programs_may_raise_privileges_unless_told_otherwise() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    std::fs::set_permissions(place.path("layer/bin/id"), PermissionsExt::from_mode(0o4755)).expect("setuid");
    // Revision 2, effective; CAP_NET_BIND_SERVICE permitted: what `setcap` writes into images.
    let mut capabilities = [0u8; 20];
    capabilities[..4].copy_from_slice(&0x0200_0001u32.to_le_bytes());
    capabilities[4..8].copy_from_slice(&(1u32 << 10).to_le_bytes());
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(place.path("layer/bin/cat"), "security.capability", &capabilities, flags)
        .expect("setcap");
    for ids in [Ids::Range { base: BASE }, Ids::Identity] {
        for (no_new_privs, user, held) in
            [(false, "0", "0000000000000400"), (true, "1000", "0000000000000000")]
        {
            let mut launch = place.launch("raise", "id -u; cat /proc/self/status");
            (launch.ids, launch.process.uid, launch.process.no_new_privs) = (ids, 1000, no_new_privs);
            let (end, output) = run(&launch);
            assert_eq!(end, OK, "{output}");
            assert_eq!(output.lines().next(), Some(user), "{ids:?}");
            assert!(output.contains(&format!("CapEff:\t{held}")), "{ids:?}: {output}");
        }
    }
}

#[test]
fn what_the_owner_was_started_with_stays_hidden() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    for attempt in
        ["cat /proc/1/environ", "cat /proc/1/maps", "ls /proc/1/root/", "cat /proc/1/auxv", "cat /proc/1/exe"]
    {
        for ids in [Ids::Range { base: BASE }, Ids::Identity] {
            let mut launch = place.launch("hidden", attempt);
            launch.ids = ids;
            let (end, output) = run(&launch);
            assert_ne!(end, OK, "{attempt}: {output}");
            assert!(output.contains("Permission denied"), "{attempt}: {output}");
        }
    }
}

#[test]
fn the_program_cannot_be_written_from_inside() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    for ids in [Ids::Identity, Ids::Range { base: BASE }] {
        let mut launch = place.launch("program", "");
        launch.ids = ids;
        launch.process.is_init = true;
        // A copy, so that a failure harms nothing.
        let program = place.path("program");
        common::copy_program(&std::env::current_exe().expect("exe"), &program);
        let size = std::fs::metadata(&program).expect("program").len();
        launch.process.program = Some(program.clone());
        launch.process.argv = ["abx-guest", "probe", "overwrite", "/proc/1/exe"].map(str::to_owned).to_vec();
        assert_eq!(run(&launch).0, StepEnd::Exited(1));
        assert_eq!(std::fs::metadata(&program).expect("program").len(), size);
    }
}

#[test]
fn many_layers_lie_over_each_other() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch = place.launch("layers", "cat /etc/top /etc/1; ls /etc | cat");
    // Names as long as digests make them, and deep.
    for number in 1..=60 {
        let layer = place.path(&format!("store/{}/{number:0>100}/fs", "a".repeat(150)));
        std::fs::create_dir_all(layer.join("etc")).expect("layer");
        std::fs::write(layer.join("etc/top"), format!("{number}\n")).expect("file");
        std::fs::write(layer.join(format!("etc/{number}")), "own\n").expect("file");
        if number == 60 {
            let whiteout = rustix::fs::Mode::from_raw_mode(0);
            let path = layer.join("etc/59");
            let device = rustix::fs::FileType::CharacterDevice;
            rustix::fs::mknodat(rustix::fs::CWD, path, device, whiteout, 0).expect("whiteout");
        }
        launch.root.layers.push(layer);
    }
    let (end, output) = run(&launch);
    assert_eq!(end, OK, "{output}");
    assert!(output.starts_with("60\nown\n"), "{output}");
    assert_eq!(output.lines().count(), 2 + 60, "59 files and `top`: {output}");
}

#[test]
fn a_layer_may_lie_there_twice() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let mut launch = place.launch("twice", "cat /etc/word");
    for (name, word) in [("one", "one\n"), ("other", "other\n")] {
        std::fs::create_dir_all(place.path(&format!("{name}/etc"))).expect("layer");
        std::fs::write(place.path(&format!("{name}/etc/word")), word).expect("file");
    }
    launch.root.layers.extend(["one", "other", "one"].map(|name| place.path(name)));
    assert_eq!(run(&launch), (OK, "one\n".to_owned()), "the upper one counts");
}

#[test]
fn layers_may_lie_on_different_file_systems() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return common::say("skipped: no /dev/shm") };
    std::fs::create_dir(memory.path().join("etc")).expect("layer");
    std::fs::write(memory.path().join("etc/far"), "far\n").expect("file");
    let mut launch = place.launch("apart", "cat /etc/far; stat -c %u /etc/far /bin/sh");
    launch.root.layers.push(memory.path().to_owned());
    assert_eq!(run(&launch), (OK, "far\n0\n0\n".to_owned()));
}

#[test]
fn files_and_binds_are_laid_down() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    // A link out of /etc, to nowhere, that climbs above the root.
    symlink("../../../run/resolver/resolv.conf", place.path("layer/etc/resolv.conf")).expect("link");
    std::fs::create_dir(place.path("shared")).expect("shared");
    std::fs::write(place.path("shared/note"), "from the host\n").expect("note");
    let script = "cat /etc/resolv.conf /run/secret /run/shared/note /etc/hosts; stat -c '%a %u' /run/secret; \
                  echo x > /run/shared/note; echo x > /etc/hosts; ls -d /opt";
    let mut launch = place.launch("files", script);
    let file =
        |path: &str, content: &str, mode| RuntimeFile { path: path.into(), content: content.into(), mode };
    launch.files = vec![
        file("/etc/resolv.conf", "nameserver\n", 0o644),
        file("/etc/hosts", "hosts\n", 0o644),
        file("/run/secret", "secret\n", 0o600),
    ];
    let bind = |target: &str, optional| Bind {
        source: place.path("shared"),
        target: target.into(),
        read_only: true,
        optional,
    };
    launch.binds = vec![bind("/run/shared", false), bind("/opt/shared", true)];
    let (_, output) = run(&launch);
    assert!(output.starts_with("nameserver\nsecret\nfrom the host\nhosts\n600 0\n"), "{output}");
    assert_eq!(output.matches("Read-only").count(), 2, "{output}");
    assert!(output.contains("/opt"), "{output}");
    assert_eq!(std::fs::read_to_string(upper(&launch).join("etc/hosts")).expect("made to bind over"), "");

    launch = place.launch("absent", "true");
    launch.binds = vec![bind("/opt/shared", false)];
    let (end, _) = attempt(&launch, &Relays::default());
    assert!(matches!(end, Err(IsolateError::Bind { .. })), "{end:?}");
    assert_clean(&launch);
}

#[test]
fn failures_have_names() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let fails = |change: &dyn Fn(&mut abx_isolate::Launch)| {
        let mut launch = place.launch("fails", "true");
        change(&mut launch);
        let (end, _) = attempt(&launch, &Relays::default());
        assert_clean(&launch);
        end.expect_err("a failure")
    };
    let error = fails(&|launch| launch.process.argv = vec!["no-such".into()]);
    assert_eq!(error, IsolateError::ProgramNotFound { program: "no-such".into() });
    let error = fails(&|launch| launch.process.argv = vec!["/etc".into()]);
    assert!(matches!(error, IsolateError::ProgramNotExecutable { .. }), "{error:?}");
    let error = fails(&|launch| launch.process.cwd = "/none".into());
    assert!(matches!(error, IsolateError::WorkingDirectory { .. }), "{error:?}");
    let error = fails(&|launch| launch.root.layers.push("/none".into()));
    assert!(matches!(error, IsolateError::Layer { .. }), "{error:?}");
    let error = fails(&|launch| launch.root.upper = Upper::Disk(Disk::new("/none")));
    assert!(matches!(error, IsolateError::Disk { .. }), "{error:?}");
}

#[test]
fn the_status_comes_out_and_stragglers_end() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    assert_eq!(run(&place.launch("status", "exit 7")).0, StepEnd::Exited(7));
    assert_eq!(run(&place.launch("signal", "kill -9 $$")).0, StepEnd::Signaled(9));
    // Its output ends with the program, whatever it left running.
    let (end, output) = run(&place.launch("stragglers", "(while :; do :; done) & echo done"));
    assert_eq!((end, output.as_str()), (OK, "done\n"));
    let mut launch = place.launch("user", "id -u; id -g; id -G; echo x > /tmp/x; echo x > /etc/x");
    (launch.process.uid, launch.process.gid, launch.process.groups) = (1000, 1001, vec![1002]);
    let (end, output) = run(&launch);
    assert_ne!(end, OK);
    assert!(output.starts_with("1000\n1001\n1001 1002\n"), "{output}");
}
