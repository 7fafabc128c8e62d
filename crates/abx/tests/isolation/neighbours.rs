//! Two sandboxes know nothing of each other.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use crate::cell::{EVERYBODY, attempts, cell, python};
use crate::lab;

/// What processes share that know a name.
const LEAVE: &str = r#"
key = 0x616278
shared = call(29, key, ctypes.c_size_t(4096), 0o1666)
messages = call(68, key, 0o1666)
semaphores = call(64, key, 1, 0o1666)
queue = call(240, b"abx", os.O_CREAT | os.O_RDWR, 0o666, None)
open("/dev/shm/abx", "w").write("mine")
open("/tmp/abx", "w").write("mine")
"#;

const LOOK: &str = r#"
key = 0x616278
attempt("shared memory", lambda: call(29, key, ctypes.c_size_t(4096), 0o666))
attempt("messages", lambda: call(68, key, 0o666))
attempt("semaphores", lambda: call(64, key, 1, 0o666))
attempt("queue", lambda: call(240, b"abx", os.O_RDWR, 0, None))
attempt("/dev/shm", lambda: opened("/dev/shm/abx", os.O_RDONLY))
attempt("/tmp", lambda: opened("/tmp/abx", os.O_RDONLY))
def abstract():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0abx-host")
attempt("abstract socket of the host", abstract)
def neighbour():
    s = socket.socket(socket.AF_UNIX)
    s.connect("\0abx-neighbour")
attempt("abstract socket of the neighbour", neighbour)
"#;

#[test]
fn nothing_is_shared_by_name() {
    lab::run("neighbours::nothing_is_shared_by_name", |abx| {
        let (one, other) = (cell(abx), cell(abx));
        let address = SocketAddr::from_abstract_name("abx-host").expect("address");
        let _listener = UnixListener::bind_addr(&address).expect("listen");
        python(abx, &one, "user", LEAVE);
        one.sh(
            "nohup python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind(\"\\0abx-neighbour\"); s.listen(); \
             open(\"/tmp/ready\", \"w\"); time.sleep(1000)' > /dev/null 2>&1 & until [ -e /tmp/ready ]; do sleep 0.02; done",
        );
        let own = attempts(abx, &one, "user", LOOK);
        let found = own.values().filter(|verdict| *verdict == "came through").count();
        assert_eq!(found, 7, "the one finds its own, but for the host's: {own:?}");
        for user in EVERYBODY {
            let verdicts = attempts(abx, &other, user, LOOK);
            assert!(
                verdicts.values().all(|verdict| ["ENOENT", "ECONNREFUSED"].contains(&verdict.as_str())),
                "as {user}: {verdicts:?}"
            );
        }
    });
}

#[test]
fn the_same_user_in_two_sandboxes_is_two_users_of_the_host() {
    lab::run("neighbours::the_same_user_in_two_sandboxes_is_two_users_of_the_host", |abx| {
        let (one, other) = (cell(abx), cell(abx));
        let range = |sandbox: &abx_test::LiveSandbox<'_>| {
            let map = sandbox.sh("cat /proc/self/uid_map /proc/self/gid_map");
            let numbers: Vec<u32> =
                map.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            assert_eq!(numbers[..3], numbers[3..], "users and groups alike");
            assert_eq!((numbers[0], numbers[2]), (0, 65536));
            numbers[1]
        };
        let (one, other) = (range(&one), range(&other));
        assert!(one.abs_diff(other) >= 65536 && one.min(other) >= 1 << 20, "{one} {other}");
    });
}
