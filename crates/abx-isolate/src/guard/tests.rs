//! Policies against real packets, in two network namespaces of the test's own.

use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

use abx_core::egress::Target;

use super::message::tests::{answer_with, labels, question};
use super::*;

/// A sandbox's network, and one beyond it that has every address of `ADDRESSES`, with servers on `PORTS`.
struct Net {
    sandbox: OwnedFd,
    outside: OwnedFd,
}

const ADDRESSES: [&str; 5] =
    ["192.0.2.1/24", "192.0.2.2/24", "203.0.113.7/32", "2001:db8::1/64", "2001:db8:1::1/128"];
const PORTS: [u16; 3] = [80, 443, 53];

impl Net {
    /// `None`, with a word, where this machine cannot have one.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || Command::new("ip").arg("-V").output().is_err() {
            eprintln!("skipped: networks need root and `ip`");
            return None;
        }
        let (outside, ()) = netns::create(|| ()).expect("a namespace");
        let (sandbox, ()) = netns::create(|| ()).expect("a namespace");
        let net = Self { sandbox, outside };
        net.join();
        Some(net)
    }

    fn within_outside<T>(&self, work: impl FnOnce() -> T) -> T {
        netns::within(self.outside.as_fd(), work).expect("enter")
    }

    fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        netns::within(self.sandbox.as_fd(), work).expect("enter")
    }

    fn join(&self) {
        let path =
            format!("/proc/{}/fd/{}", std::process::id(), std::os::fd::AsRawFd::as_raw_fd(&self.outside));
        self.within(|| {
            ip(&format!("link add eth0 type veth peer name eth0 netns {path}"));
            ip("link set lo up");
            ip("addr add 192.0.2.100/24 dev eth0");
            ip("addr add 2001:db8::100/64 dev eth0 nodad");
            ip("link set eth0 up");
        });
        self.within_outside(|| {
            ip("link set lo up");
            for address in ADDRESSES {
                let nodad = if address.contains(':') { " nodad" } else { "" };
                ip(&format!("addr add {address} dev eth0{nodad}"));
            }
            ip("link set eth0 up");
            for port in PORTS {
                let listener = TcpListener::bind(("::", port)).expect("a server");
                std::thread::spawn(move || while listener.accept().is_ok() {});
            }
        });
        self.within(|| {
            ip("route add default via 192.0.2.1");
            ip("route add default via 2001:db8::1");
        });
    }

    /// Whether a server answers; `false` where it is refused at once.
    fn reaches(&self, address: &str) -> bool {
        let address: SocketAddr = address.parse().expect("an address");
        // Generous: what is refused is refused by a message, not by this.
        let connected = self.within(|| TcpStream::connect_timeout(&address, Duration::from_secs(20)));
        match connected {
            Ok(_) => true,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => false,
            Err(error) => panic!("{address}: {error}"),
        }
    }

    fn guard(&self, allow: &[&str], deny: &[&str]) -> Guard {
        Guard::new(&self.sandbox, &policy(allow, deny)).expect("a guard")
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

fn policy(allow: &[&str], deny: &[&str]) -> Egress {
    let targets =
        |words: &[&str]| words.iter().map(|word| word.parse().expect("a target")).collect::<Vec<Target>>();
    Egress::of_lists(&targets(allow), &targets(deny), None)
}

/// An answer with addresses of the name itself.
fn answered(name: &str, addresses: &[&str]) -> Vec<u8> {
    let records = addresses.iter().map(|address| match address.parse().expect("an address") {
        IpAddr::V4(address) => (labels(name), 1, 60, address.octets().to_vec()),
        IpAddr::V6(address) => (labels(name), 28, 60, address.octets().to_vec()),
    });
    answer_with(name, &records.collect::<Vec<_>>())
}

fn told(guard: &Guard) -> Vec<String> {
    guard.report().latest.iter().map(ToString::to_string).collect()
}

#[test]
fn networks_are_denied_and_the_rest_is_reached_in_both_families() {
    let Some(net) = Net::new() else { return };
    let guard = net
        .guard(&["192.0.2.2"], &["192.0.2.0/24", "2001:db8:1::/48", "203.0.113.7:443", "203.0.112.0/22:80"]);
    for (address, reached) in [
        ("192.0.2.1:80", false),
        ("192.0.2.2:80", true),
        ("203.0.113.7:80", false),
        ("203.0.113.7:443", false),
        ("[2001:db8::1]:80", true),
        ("[2001:db8:1::1]:443", false),
    ] {
        assert_eq!(net.reaches(address), reached, "{address}");
    }
    assert_eq!(
        told(&guard),
        [
            "egress denied tcp 192.0.2.1:80 by rule `deny 192.0.2.0/24`",
            "egress denied tcp 203.0.113.7:80 by rule `deny 203.0.112.0/22:80`",
            "egress denied tcp 203.0.113.7:443 by rule `deny 203.0.113.7:443`",
            "egress denied tcp [2001:db8:1::1]:443 by rule `deny 2001:db8:1::/48`",
        ]
    );
    assert_eq!(guard.report().count, 4);
}

#[test]
fn only_the_addresses_of_allowed_names_are_reached() {
    let Some(net) = Net::new() else { return };
    let guard = net.guard(&["example.com", "*.example.org:443"], &[]);
    assert!(!net.reaches("203.0.113.7:80"), "nobody has asked for it yet");
    assert_eq!(guard.question(&question("Example.com")), Question::Ask);
    let answer = answered("example.com", &["203.0.113.7", "2001:db8:1::1"]);
    assert_eq!(guard.answer(&question("example.com"), &answer), None);
    assert!(net.reaches("203.0.113.7:80"));
    assert!(net.reaches("[2001:db8:1::1]:80"));
    assert!(!net.reaches("192.0.2.1:80"), "an address that no name leads to");
    // Again, which makes the time longer.
    assert_eq!(guard.answer(&question("example.com"), &answer), None);
    assert!(net.reaches("203.0.113.7:443"));

    assert_eq!(
        guard.answer(&question("a.b.example.org"), &answered("a.b.example.org", &["192.0.2.2"])),
        None
    );
    assert!(net.reaches("192.0.2.2:443"));
    assert!(!net.reaches("192.0.2.2:80"), "another port than the rule's");
    assert!(matches!(guard.question(&question("example.org")), Question::Answered(_)), "not below itself");
    assert!(matches!(guard.question(&question("other.net")), Question::Answered(_)));
    assert_eq!(
        told(&guard),
        [
            "egress denied tcp 203.0.113.7:80 by the default, `deny`",
            "egress denied tcp 192.0.2.1:80 by the default, `deny`",
            "egress denied tcp 192.0.2.2:80 (a.b.example.org) by the default, `deny`",
            "egress denied dns example.org by the default, `deny`",
            "egress denied dns other.net by the default, `deny`",
        ]
    );
}

#[test]
fn an_alias_may_be_anything_for_a_name_that_a_rule_allows_only() {
    let Some(net) = Net::new() else { return };
    let alias = |name: &str, other: &str| {
        let records = [(labels(name), 5, 60, labels(other)), (labels(other), 1, 60, vec![203, 0, 113, 7])];
        answer_with(name, &records)
    };
    let guard = net.guard(&["example.com"], &[]);
    assert_eq!(guard.answer(&question("example.com"), &alias("example.com", "cdn.net")), None);
    assert!(net.reaches("203.0.113.7:80"));

    drop(guard);
    let guard = net.guard(&[], &["evil.net"]);
    assert!(guard.answer(&question("good.com"), &alias("good.com", "evil.net")).is_some());
    assert_eq!(guard.answer(&question("good.com"), &alias("good.com", "cdn.net")), None);
    assert_eq!(told(&guard), ["egress denied dns good.com (by its alias evil.net) by rule `deny evil.net`"]);
}

#[test]
fn an_answer_to_another_question_opens_nothing() {
    let Some(net) = Net::new() else { return };
    let guard = net.guard(&["example.com", "other.com"], &[]);
    let answer = answered("other.com", &["203.0.113.7"]);
    let given = guard.answer(&question("example.com"), &answer).expect("a failure in its stead");
    assert_eq!(given[3] & 15, 2);
    assert!(!net.reaches("203.0.113.7:80"));
    assert_eq!(guard.question(b"nonsense"), Question::Nonsense);
}

#[test]
fn other_name_servers_are_reached_only_where_a_rule_says_so() {
    let Some(net) = Net::new() else { return };
    let guard = net.guard(&[], &["10.0.0.0/8"]);
    assert!(!net.reaches("203.0.113.7:53"));
    let sent = net.within(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("socket");
        socket.connect("203.0.113.7:853").expect("connect");
        socket.send(b"question").and_then(|_| socket.recv(&mut [0; 16]))
    });
    // At once, not as an answer that never comes.
    assert_eq!(sent.map_err(|error| error.kind()), Err(std::io::ErrorKind::PermissionDenied));
    let reason = "by the rule that names are asked for at 127.0.0.11";
    assert_eq!(
        told(&guard),
        [
            format!("egress denied tcp 203.0.113.7:53 {reason}"),
            format!("egress denied udp 203.0.113.7:853 {reason}"),
        ]
    );
    // A plain rule for the address does not open them, one with the port does.
    guard.set(&policy(&["203.0.113.7"], &[])).expect("set");
    assert!(!net.reaches("203.0.113.7:53"));
    assert!(net.reaches("203.0.113.7:80"));
    guard.set(&policy(&["203.0.113.7:53"], &[])).expect("set");
    assert!(net.reaches("203.0.113.7:53"));
    assert!(!net.reaches("192.0.2.1:53"));
}

#[test]
fn what_no_policy_allows_stays_refused() {
    let Some(net) = Net::new() else { return };
    net.within(|| ip("route add 169.254.0.0/16 dev eth0"));
    let guard = net.guard(&["*", "169.254.169.254"], &[]);
    for address in ["169.254.169.254:80", "100.100.100.200:80", "10.201.0.1:80"] {
        assert!(!net.reaches(address), "{address}");
    }
    assert!(net.reaches("192.0.2.1:80"));
    assert_eq!(told(&guard)[0], "egress denied tcp 169.254.169.254:80 by what no policy allows");
}

#[test]
fn a_policy_of_the_largest_size_is_taken_and_replaced() {
    let Some(net) = Net::new() else { return };
    let many = |suffix: &str| -> Vec<String> {
        (0..Egress::MOST_RULES - 1).map(|number| format!("n{number}.{suffix}:443")).collect()
    };
    let (one, other) = (many("example.com"), many("example.org"));
    let words = |list: &[String], last: &'static str| -> Egress {
        let mut list: Vec<&str> = list.iter().map(String::as_str).collect();
        list.push(last);
        policy(&list, &[])
    };
    let guard = Guard::new(&net.sandbox, &words(&one, "192.0.2.1")).expect("a guard");
    assert!(net.reaches("192.0.2.1:80"));
    assert!(!net.reaches("192.0.2.2:80"));
    guard.set(&words(&other, "192.0.2.2")).expect("set");
    assert!(net.reaches("192.0.2.2:80"));
    assert!(!net.reaches("192.0.2.1:80"));
    assert_eq!(
        guard.answer(&question("n3.example.org"), &answered("n3.example.org", &["203.0.113.7"])),
        None
    );
    assert!(net.reaches("203.0.113.7:443"));
}

#[test]
fn the_same_refusal_is_told_once_and_counted_each_time() {
    let Some(net) = Net::new() else { return };
    let guard = net.guard(&[], &["192.0.2.0/24"]);
    assert!(!net.reaches("192.0.2.1:80"));
    guard.drain();
    let (tell, heard) = std::sync::mpsc::channel();
    guard.tell(Box::new(move |refusal| drop(tell.send(refusal.to_string()))));
    for _ in 0..3 {
        assert!(!net.reaches("192.0.2.1:80"));
    }
    assert!(!net.reaches("192.0.2.2:80"));
    assert_eq!(guard.report().count, 5);
    let heard: Vec<String> = heard.try_iter().collect();
    assert_eq!(
        heard,
        [
            "egress denied tcp 192.0.2.1:80 by rule `deny 192.0.2.0/24`",
            "egress denied tcp 192.0.2.2:80 by rule `deny 192.0.2.0/24`",
        ]
    );
}
