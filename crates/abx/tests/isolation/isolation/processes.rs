//! Processes: those of the sandbox are all there are.

use crate::cell::{EVERYBODY, all_refused, attempts, cell, python, still_serves};
use crate::lab;

#[test]
fn no_process_of_the_host_is_seen_or_signalled() {
    lab::run("processes::no_process_of_the_host_is_seen_or_signalled", |abx| {
        let sandbox = cell(abx);
        let witness = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep");
        let _guard = Ended(witness);
        for user in EVERYBODY {
            let seen = python(
                abx,
                &sandbox,
                user,
                "print(*sorted(open(f'/proc/{p}/comm').read().strip() for p in os.listdir('/proc') if p.isdigit()))",
            );
            assert!(!seen.contains("sleep") && !seen.contains("abx-monitor"), "as {user}: {seen}");
            // All there are but oneself and process 1; that is only what this call has started.
            python(
                abx,
                &sandbox,
                user,
                "signal.signal(9 if False else 15, signal.SIG_IGN)\ntry: os.kill(-1, 15)\nexcept OSError: pass",
            );
        }
        let state = std::fs::read_to_string(format!("/proc/{}/stat", _guard.0.id())).expect("it lives");
        assert!(state.contains("(sleep) S"), "{state}");
        still_serves(&sandbox);
    });
}

struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the user tries on the daemon, which is root's.
const DAEMON: &str = r#"
big = ctypes.create_string_buffer(64)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(big), 8)
attempt("attach", lambda: call(101, 16, 1, 0, 0))
attempt("seize", lambda: call(101, 0x4206, 1, 0, 0))
attempt("read its memory", lambda: call(310, 1, vector, 1, vector, 1, 0))
attempt("write its memory", lambda: call(311, 1, vector, 1, vector, 1, 0))
attempt("open its memory", lambda: opened("/proc/1/mem", os.O_RDWR))
attempt("its environment", lambda: opened("/proc/1/environ", os.O_RDONLY))
attempt("its maps", lambda: opened("/proc/1/maps", os.O_RDONLY))
attempt("its root", lambda: os.listdir("/proc/1/root/"))
attempt("its descriptors", lambda: os.listdir("/proc/1/fd"))
attempt("a descriptor of it", lambda: call(438, os.pidfd_open(1), 3, 0))
attempt("signal", lambda: os.kill(1, 9))
attempt("limits", lambda: call(302, 1, 7, (ctypes.c_ulong * 2)(8, 8), None))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
"#;

#[test]
fn the_user_has_no_hold_on_the_daemon() {
    lab::run("processes::the_user_has_no_hold_on_the_daemon", |abx| {
        let sandbox = cell(abx);
        let verdicts = attempts(abx, &sandbox, "user", DAEMON);
        let through: Vec<_> =
            verdicts.iter().filter(|(_, verdict)| !["EPERM", "EACCES"].contains(&verdict.as_str())).collect();
        assert!(through.is_empty(), "{through:?}");
    });
}

/// Root inside owns the daemon and may spoil it, and with it the sandbox: nothing else.
#[test]
fn root_inside_can_stop_its_own_daemon_and_nothing_else() {
    lab::run("processes::root_inside_can_stop_its_own_daemon_and_nothing_else", |abx| {
        let (sandbox, neighbour) = (cell(abx), cell(abx));
        for number in 1..32 {
            let script = format!("try: os.kill(1, {number})\nexcept OSError as error: print(error)");
            python(abx, &sandbox, "root", &script);
        }
        still_serves(&sandbox);
        // The program is the host's file; it cannot be opened for writing, nor what it was started from.
        all_refused(
            abx,
            &sandbox,
            "attempt('the program', lambda: opened('/proc/1/exe', os.O_WRONLY))\n\
             attempt('the program, appended to', lambda: opened('/proc/1/exe', os.O_RDWR | os.O_APPEND))\n\
             attempt('the program, cut', lambda: os.truncate('/proc/1/exe', 0))\n\
             attempt('the program, chmod', lambda: os.chmod('/proc/1/exe', 0o777))\n\
             attempt('the program, chown', lambda: os.chown('/proc/1/exe', 0, 0))",
            &["EPERM", "EACCES", "EROFS", "ETXTBSY"],
        );
        // Attached to and never let go: the daemon stands still, kill works.
        python(
            abx,
            &sandbox,
            "root",
            "child = os.fork()\nif child == 0:\n    os.setsid(); null = os.open('/dev/null', os.O_RDWR); [os.dup2(null, n) for n in (0, 1, 2)]\n    \
             time.sleep(0.5); call(101, 16, 1, 0, 0); time.sleep(1000)",
        );
        std::thread::sleep(std::time::Duration::from_millis(800));
        abx.run(&["kill", &sandbox.id]).success();
        still_serves(&neighbour);
    });
}
