//! The network: out, and nowhere else; nothing about it can be changed.

use std::net::TcpListener;

use abx_test::LiveSandbox;

use crate::cell::{EVERYBODY, all_refused, attempts, cell};
use crate::lab::{self, METADATA};

const CONNECT: &str = r#"
def connect(host, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(2)
    try:
        s.connect((host, port))
    except TimeoutError:
        raise OSError(errno.ETIMEDOUT, "no answer")
"#;

fn gateway(sandbox: &LiveSandbox<'_>) -> String {
    let gateway = sandbox.sh("awk '$2 == \"00000000\" { print $3 }' /proc/net/route");
    let gateway = u32::from_str_radix(gateway.trim(), 16).expect("a gateway").to_le_bytes();
    gateway.map(|byte| byte.to_string()).join(".")
}

#[test]
fn the_host_its_metadata_and_its_neighbours_are_out_of_reach() {
    lab::run("network::the_host_its_metadata_and_its_neighbours_are_out_of_reach", |abx| {
        // On all addresses, the metadata server's too.
        let server = TcpListener::bind("0.0.0.0:0").expect("listen");
        let port = server.local_addr().expect("address").port();
        std::net::TcpStream::connect((METADATA, port)).expect("the host itself reaches its metadata");
        let (sandbox, neighbour) =
            (abx.create(&["base", "--timeout", "240"]), abx.create(&["base", "--timeout", "240"]));
        neighbour.sh(&format!(
            "nohup python3 -m http.server {port} > /dev/null 2>&1 & until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'; do :; done"
        ));
        let gateway = gateway(&sandbox);
        let beside = neighbour.sh("hostname -I").split_whitespace().next().expect("an address").to_owned();
        let mut script = CONNECT.to_owned();
        for address in
            ["127.0.0.1", "198.51.100.2", "0.0.0.0", "100.100.100.200", METADATA, &gateway, &beside]
        {
            script += &format!("attempt('{address}', lambda: connect('{address}', {port}))\n");
        }
        script += &format!("attempt('::1', lambda: connect('::1', {port}, socket.AF_INET6))\n");
        for user in EVERYBODY {
            let verdicts = attempts(abx, &sandbox, user, &script);
            let reached: Vec<_> = verdicts.iter().filter(|(_, verdict)| *verdict == "came through").collect();
            assert!(reached.is_empty(), "as {user}: {reached:?}");
        }
    });
}

/// By netlink, by ioctl, by sockets below the protocols.
const CHANGES: &str = r#"
import fcntl
def netlink(kind, payload, protocol=0, flags=0x5):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    s.settimeout(5)
    s.send(struct.pack("=IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)
    answer = s.recv(4096)
    code = struct.unpack_from("=i", answer, 16)[0]
    if code < 0:
        raise OSError(-code, os.strerror(-code))

def attribute(kind, value):
    value += b"\0" * (-len(value) % 4)
    return struct.pack("=HH", 4 + len(value), kind) + value

def ioctl(request):
    fcntl.ioctl(socket.socket(), request, struct.pack("16sH14x", b"lo", 0x49))

link = struct.pack("=BxHiII", 0, 0, 1, 0x1, 0x1)
attempt("link set lo", lambda: netlink(16, link))
attempt("link add dummy", lambda: netlink(16, struct.pack("=BxHiII", 0, 0, 0, 0, 0) + attribute(3, b"abx9\0") + attribute(18, attribute(1, b"dummy")), flags=0x605))
attempt("address add", lambda: netlink(20, struct.pack("=BBBBI", 2, 32, 0, 0, 1) + attribute(2, bytes([10, 201, 9, 9])), flags=0x605))
attempt("route add", lambda: netlink(24, struct.pack("=BBBBBBBBI", 2, 32, 0, 0, 254, 3, 0, 1, 0) + attribute(1, bytes([203, 0, 113, 9])) + attribute(4, struct.pack("=I", 1)), flags=0x605))
attempt("neighbour add", lambda: netlink(28, struct.pack("=BxHiHBB", 2, 0, 1, 0x80, 0, 0) + attribute(1, bytes([10, 201, 0, 1])) + attribute(2, bytes(6)), flags=0x605))
attempt("rule add", lambda: netlink(32, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0), flags=0x605))
attempt("queue discipline", lambda: netlink(36, struct.pack("=BxHiIII", 0, 0, 1, 0, 0xffffffff, 0) + attribute(1, b"noqueue\0"), flags=0x605))
attempt("into the host's namespace", lambda: netlink(16, struct.pack("=BxHiII", 0, 0, 2, 0, 0) + attribute(19, struct.pack("=I", 1))))
attempt("packet filter", lambda: netlink(10 << 8, struct.pack("=BBH", 1, 0, 0) + attribute(1, b"abx9\0"), 12, 0x405))
attempt("address by ioctl", lambda: ioctl(0x8916))
attempt("flags by ioctl", lambda: ioctl(0x8914))
attempt("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("raw socket of IPv6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
attempt("packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
attempt("another's address", lambda: socket.socket().bind(("10.201.0.1", 0)))
attempt("transparent", lambda: socket.socket().setsockopt(0, 19, 1))
attempt("mark", lambda: socket.socket().setsockopt(socket.SOL_SOCKET, 36, 1))
attempt("buffer beyond the limit", lambda: socket.socket().setsockopt(socket.SOL_SOCKET, 33, 1 << 28))
attempt("events of the kernel", lambda: netlink(16, b"add@/devices/abx\0", 15))
"#;

#[test]
fn the_network_cannot_be_changed() {
    lab::run("network::the_network_cannot_be_changed", |abx| {
        let words = ["EPERM", "EACCES", "EADDRNOTAVAIL", "ECONNREFUSED", "EOPNOTSUPP"];
        let sandbox = abx.create(&["base", "--timeout", "240"]);
        all_refused(abx, &sandbox, CHANGES, &words);
        all_refused(abx, &cell(abx), CHANGES, &words);
    });
}
