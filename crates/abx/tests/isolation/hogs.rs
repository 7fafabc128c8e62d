//! Taking all there is: each limit ends the taker, and a neighbour does not notice.

use std::time::{Duration, Instant};

use abx_test::{LiveSandbox, TestContext};

use crate::cell::{cell, python, still_serves};
use crate::lab;

/// Lets `script` (which takes until it is stopped, and says so) run beside a neighbour, and ends its sandbox after.
fn beside_a_neighbour(abx: &TestContext, script: &str, check: impl Fn(&str)) {
    let neighbour = cell(abx);
    let sandbox = cell(abx);
    let command = ["exec", &sandbox.id, "--timeout", "60", "--", "python3", "-c"];
    let program = format!("{}\n{script}", include_str!("prelude.py"));
    let ran = abx.run(&[&command[..], &[program.as_str()]].concat());
    check(&format!("{}{} status {:?}", ran.stdout, ran.stderr, ran.status));
    still_serves(&neighbour);
    ends_soon(abx, &sandbox);
    still_serves(&neighbour);
}

/// However full it is, it can be ended.
fn ends_soon(abx: &TestContext, sandbox: &LiveSandbox<'_>) {
    let start = Instant::now();
    abx.run(&["kill", &sandbox.id]).success();
    assert!(start.elapsed() < Duration::from_secs(60), "the end took {:?}", start.elapsed());
}

#[test]
fn a_fork_bomb_fills_its_own_sandbox() {
    lab::run("hogs::a_fork_bomb_fills_its_own_sandbox", |abx| {
        let neighbour = cell(abx);
        let sandbox = cell(abx);
        // Left behind, and nobody collects: only the end of the sandbox ends it. A sleeper each, so that it is not the
        // processor that is taken.
        sandbox.sh("nohup sh -c 'bomb() { while :; do bomb & sleep 1; done; }; bomb' > /dev/null 2>&1 &");
        abx_test::wait_until("there are many, or there is no room for one more", || {
            let ran = sandbox.exec(&["sh", "-c", "ls /proc | grep -c '^[0-9]'"]);
            let count = ran.stdout.trim().parse::<u32>().unwrap_or_default();
            (ran.status != Some(0) || count > 200).then_some(())
        });
        still_serves(&neighbour);
        ends_soon(abx, &sandbox);
        still_serves(&neighbour);
    });
}

#[test]
fn memory_of_every_kind_counts() {
    lab::run("hogs::memory_of_every_kind_counts", |abx| {
        for (kind, take) in [
            ("plain", "kept.append(bytearray(b'x') * (8 << 20))"),
            (
                "memory files",
                "fd = os.memfd_create('x'); kept.append(fd); os.posix_fallocate(fd, 0, 8 << 20)",
            ),
            (
                "shared memory",
                "i = call(29, 0, ctypes.c_size_t(8 << 20), 0o600); libc.shmat.restype = ctypes.c_void_p; ctypes.memset(libc.shmat(i, None, 0), 1, 8 << 20)",
            ),
            (
                "files in /dev/shm",
                "open(f'/dev/shm/{len(kept)}', 'wb').write(b'x' * (8 << 20)); kept.append(1)",
            ),
            (
                "pipes",
                "r, w = os.pipe(); os.set_blocking(w, False); os.write(w, b'x' * (1 << 16)); kept.append((r, w))",
            ),
            (
                "sockets",
                "a, b = socket.socketpair(); a.setblocking(False); kept.append((a, b))\n        try:\n            while True: a.send(b'x' * 65536)\n        except BlockingIOError: pass",
            ),
        ] {
            let script = format!(
                "kept = []\ntry:\n    while len(kept) < 100000:\n        {take}\n        if time.monotonic() > begin + 50: break\nexcept (OSError, MemoryError) as error:\n    print('refused', error)"
            );
            beside_a_neighbour(abx, &format!("begin = time.monotonic()\n{script}"), |told| {
                let stopped =
                    told.contains("refused") || told.contains("E3010") || told.contains("status Some(137)");
                assert!(stopped, "{kind}: {told}");
            });
        }
    });
}

#[test]
fn a_disk_and_its_files_run_out_for_the_taker() {
    lab::run("hogs::a_disk_and_its_files_run_out_for_the_taker", |abx| {
        beside_a_neighbour(
            abx,
            "try:\n    with open('/home/user/x', 'wb') as f:\n        while True: f.write(b'x' * (1 << 20))\nexcept OSError as error: print(error.strerror)",
            |told| assert!(told.contains("No space left"), "{told}"),
        );
        // More than the disk has room for in inodes; nothing in them.
        beside_a_neighbour(
            abx,
            "os.mkdir('/home/user/d')\ntry:\n    for n in range(400000): os.mknod(f'/home/user/d/{n}')\nexcept OSError as error: print(error.strerror)",
            |told| assert!(told.contains("No space left") || told.contains("E3010"), "{told}"),
        );
        // A file that says it is huge takes nothing.
        beside_a_neighbour(
            abx,
            "os.truncate(os.open('/home/user/sparse', os.O_CREAT | os.O_WRONLY), 1 << 43); print(os.statvfs('/home/user').f_bfree > 1000)",
            |told| assert!(told.contains("True"), "{told}"),
        );
    });
}

#[test]
fn descriptors_run_out_for_the_taker() {
    lab::run("hogs::descriptors_run_out_for_the_taker", |abx| {
        let before = open_files();
        beside_a_neighbour(
            abx,
            "children = 0\ntry:\n    while children < 12:\n        if os.fork() == 0:\n            try:\n                while True: os.open('/dev/null', os.O_RDONLY)\n            \
             except OSError as error: time.sleep(40); os._exit(0)\n        children += 1\nexcept OSError as error: print(error)\ntime.sleep(2); print('taken')\nos.killpg(0, 9)",
            |told| {
                assert!(told.contains("taken") || told.contains("E3010") || told.contains("137"), "{told}")
            },
        );
        assert!(open_files() < before + 5000, "files of the ended sandbox are still open");
    });
}

/// Open files of the whole machine.
fn open_files() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/fs/file-nr").expect("file-nr");
    text.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// What the kernel counts by user, it must not count towards the host's.
#[test]
fn watches_of_a_sandbox_are_not_the_hosts() {
    lab::run("hogs::watches_of_a_sandbox_are_not_the_hosts", |abx| {
        let sandbox = cell(abx);
        sandbox.sh(
            "nohup python3 -c 'import ctypes, time\nwhile ctypes.CDLL(None).inotify_init() >= 0: pass\nopen(\"/tmp/full\", \"w\"); time.sleep(1000)' \
             > /dev/null 2>&1 & until [ -e /tmp/full ]; do sleep 0.05; done",
        );
        let neighbour = cell(abx);
        let works = "print(ctypes.CDLL(None).inotify_init() >= 0)";
        assert_eq!(python(abx, &sandbox, "user", works), "False\n", "it has used up its own");
        assert_eq!(python(abx, &neighbour, "user", works), "True\n", "a neighbour has its own");
        rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).expect("the host has its own");
    });
}

/// Signals that wait, message queues, timers, locks.
#[test]
fn small_things_run_out_for_the_taker() {
    lab::run("hogs::small_things_run_out_for_the_taker", |abx| {
        for (kind, take) in [
            (
                "message queues",
                "kept.append(call(240, b'q%d' % len(kept), os.O_CREAT | os.O_RDWR, 0o600, None))",
            ),
            ("System V messages", "kept.append(call(68, 0, 0o600))"),
            ("semaphores", "kept.append(call(64, 0, 250, 0o600))"),
            ("timers", "t = ctypes.c_int(); kept.append(call(222, 1, None, ctypes.byref(t)))"),
            (
                "watches",
                "kept.append(0); fd = globals().setdefault('fd', libc.inotify_init()); p = f'/tmp/{len(kept)}'; os.mkdir(p); call(254, fd, p.encode(), 2)",
            ),
            (
                "threads",
                "import threading\n        threading.Thread(target=time.sleep, args=(20,), daemon=True).start(); kept.append(1)",
            ),
        ] {
            let script = format!(
                "kept = []\ntry:\n    while len(kept) < 60000 and time.monotonic() < begin + 30:\n        {take}\nexcept (OSError, RuntimeError) as error:\n    print('refused', error)\nprint(len(kept))"
            );
            beside_a_neighbour(
                abx,
                &format!("begin = time.monotonic()\n{script}\nsys.stdout.flush(); os._exit(0)"),
                |told| {
                    assert!(!told.contains("Traceback"), "{kind}: {told}");
                },
            );
        }
    });
}
