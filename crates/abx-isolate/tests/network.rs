//! What a sandbox can reach, and how it is reached.
//!
//! The outside is a second network namespace of the test's own, joined to the host by a pair of interfaces.

mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use abx_core::Egress;
use abx_isolate::{Addresses, IsolateError, Network, PortForward, Relays, StepEnd};
use common::{Place, assert_clean, attempt, can_launch, run, say, slot, start};

const OK: StepEnd = StepEnd::Exited(0);

#[test]
fn without_a_network_there_is_only_loopback() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let launch = place.launch("none", "ls /sys/class/net | cat; cat /proc/net/dev");
    let (end, output) = run(&launch);
    assert_eq!(end, OK);
    assert!(output.starts_with("lo\n"), "{output}");
    assert_eq!(output.matches(':').count(), 1, "{output}");
}

#[test]
fn the_outside_is_reached_and_the_host_is_not() {
    if !can_launch() {
        return;
    }
    let Some(outside) = Outside::new() else { return };
    let place = Place::new();
    let slot = slot();
    let host = Addresses::of_slot(slot).host;
    let everywhere = TcpListener::bind("0.0.0.0:0").expect("a listener of the host");
    let port = everywhere.local_addr().expect("address").port();
    let mut launch =
        place.launch("outside", &format!("probe probe fetch {}:{}", outside.address, outside.port));
    launch.network = Network::Veth { slot };
    let (end, output) = run(&launch);
    assert_eq!(end, OK, "{output}");
    assert_eq!(output, format!("{} says hello\n", outside.host_address), "translated to the host's address");
    assert_clean(&launch);

    for address in [host, Ipv4Addr::LOCALHOST, outside.host_address] {
        let mut launch = place.launch("host", &format!("probe probe fetch {address}:{port}"));
        launch.network = Network::Veth { slot };
        let (end, output) = run(&launch);
        assert_eq!(end, StepEnd::Exited(1), "{address}: {output}");
        assert!(output.contains("refused"), "at once: {output}");
    }
}

#[test]
fn sandboxes_do_not_reach_each_other() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let (one, other) = (slot(), slot());
    let mut server = place.launch("server", "probe probe echo 0.0.0.0:80");
    server.network = Network::Veth { slot: one };
    let (running, mut output) = start(&server, &Relays::default());
    wait_for(&mut output, "listening");
    let target = Addresses::of_slot(one).guest;
    assert_eq!(talk((target, 80).into()), "guest:hello", "the host reaches it");
    let mut client = place.launch("client", &format!("probe probe fetch {target}:80"));
    client.network = Network::Veth { slot: other };
    assert_eq!(run(&client).0, StepEnd::Exited(1));
    drop(running);
    assert_clean(&server);
}

#[test]
fn ports_are_forwarded_without_any_network() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    for inside in ["127.0.0.1:80", "[::1]:80"] {
        let launch = place.launch("forward", &format!("probe probe echo {inside}"));
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let relays = Relays { ports: vec![PortForward { listen, guest: 80 }], ..Relays::default() };
        let (running, mut output) = start(&launch, &relays);
        wait_for(&mut output, "listening");
        assert_eq!(talk(listen), "guest:hello");
        let big = "x".repeat(3_000_000);
        let mut stream = TcpStream::connect(listen).expect("connect");
        let mut reader = stream.try_clone().expect("clone");
        let sender = std::thread::spawn({
            let big = big.clone();
            move || {
                stream.write_all(big.as_bytes()).expect("send");
                stream.shutdown(std::net::Shutdown::Write).expect("shutdown");
            }
        });
        let mut back = String::new();
        reader.read_to_string(&mut back).expect("answer");
        sender.join().expect("sender");
        assert!(back == format!("guest:{big}"), "{} bytes came back", back.len());

        let taken = place.launch("taken", "true");
        let (end, _) = attempt(&taken, &relays);
        assert!(matches!(end, Err(IsolateError::Listen { .. })), "{end:?}");
        assert_clean(&taken);
        drop(running);
        assert!(TcpStream::connect(listen).is_err(), "nobody listens any more");
    }
}

#[test]
fn a_server_on_the_sandboxes_own_address_is_reached_by_every_address_of_the_host() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let slot = slot();
    let mut launch = place.launch("own", &format!("probe probe echo {}:80", Addresses::of_slot(slot).guest));
    launch.network = Network::Veth { slot };
    let listen = SocketAddr::from((Ipv4Addr::UNSPECIFIED, free_port()));
    let relays = Relays { ports: vec![PortForward { listen, guest: 80 }], ..Relays::default() };
    let (running, mut output) = start(&launch, &relays);
    wait_for(&mut output, "listening");
    assert_eq!(talk((Ipv4Addr::new(127, 0, 0, 2), listen.port()).into()), "guest:hello");
    if std::path::Path::new("/proc/net/if_inet6").exists() {
        assert_eq!(talk((std::net::Ipv6Addr::LOCALHOST, listen.port()).into()), "guest:hello");
    }
    drop(running);
    assert_clean(&launch);
}

#[test]
fn a_policy_holds_for_relayed_ports_and_names_too() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    let port = listener.local_addr().expect("address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"host");
        }
    });
    for (target, reached) in [(format!("localhost:{port}"), true), ("example.com".to_owned(), false)] {
        let launch = place.launch("policy", &format!("probe probe fetch 127.0.0.1:{port}"));
        let egress = Egress::of_lists(&[target.parse().expect("target")], &[], None);
        let relays = Relays { loopback: vec![port], egress: Some(egress), ..Relays::default() };
        let (end, output) = attempt(&launch, &relays);
        assert_eq!((end == Ok(OK), output.contains("host")), (reached, reached), "{target}: {output}");
        assert_clean(&launch);
    }
}

#[test]
fn a_port_nobody_listens_on_is_refused() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let launch = place.launch("silent", "echo ready; read line");
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
    let relays = Relays { ports: vec![PortForward { listen, guest: 80 }], ..Relays::default() };
    let (running, mut output) = start(&launch, &relays);
    wait_for(&mut output, "ready");
    let mut stream = TcpStream::connect(listen).expect("connect");
    assert!(stream.read(&mut [0]).is_err(), "a reset, not an end");
    drop(running);
}

#[test]
fn ports_of_the_hosts_loopback_are_reached_where_allowed() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("listener");
    let port = listener.local_addr().expect("address").port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accept");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("read");
        stream.write_all(format!("host:{text}").as_bytes()).expect("write");
    });
    let launch = place.launch("loopback", &format!("probe probe fetch 127.0.0.1:{port}"));
    let relays = Relays { loopback: vec![port], ..Relays::default() };
    let (end, output) = attempt(&launch, &relays);
    assert_eq!((end, output.as_str()), (Ok(OK), "host:hello\n"));
    server.join().expect("server");
}

#[test]
fn names_are_answered_by_the_hosts_resolvers() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    // The first resolver is not there; the second is a stub on the host's loopback.
    let address = format!("127.77.{}.{}", std::process::id() / 250 % 250, std::process::id() % 250 + 1);
    let stub = UdpSocket::bind(format!("{address}:53")).expect("stub");
    let resolv_conf = place.path("resolv.conf");
    std::fs::write(&resolv_conf, format!("nameserver 127.78.0.1\nnameserver {address}\n")).expect("file");
    let server = std::thread::spawn(move || {
        let mut buffer = [0; 512];
        let (length, client) = stub.recv_from(&mut buffer).expect("question");
        let answer = [&buffer[..length], b", an answer"].concat();
        stub.send_to(&answer, client).expect("answer");
    });
    let launch = place.launch("names", "probe probe resolve 127.0.0.11:53");
    let relays = Relays { dns: true, ..Relays::default() };
    let (reader, writer) = std::io::pipe().expect("pipe");
    let exe = place.path("helper");
    let script = format!(
        "#!/bin/sh\nexport {}={}\nexec {} \"$@\"\n",
        common::RESOLV_CONF,
        resolv_conf.display(),
        std::env::current_exe().expect("exe").display()
    );
    common::write_program(&exe, &script);
    let streams = abx_isolate::Streams {
        stdin: std::process::Stdio::null(),
        stdout: std::process::Stdio::null(),
        stderr: writer.into(),
    };
    let child = abx_isolate::spawn_step(&exe, &launch, &relays, streams).expect("helper");
    let mut output = String::new();
    (&reader).read_to_string(&mut output).expect("output");
    assert_eq!((child.wait(), output.as_str()), (Ok(OK), " a question, an answer\n"));
    server.join().expect("server");
    assert_clean(&launch);
}

/// Says hello and returns the answer.
fn talk(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("connect");
    stream.write_all(b"hello").expect("write");
    stream.shutdown(std::net::Shutdown::Write).expect("shutdown");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    answer
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

fn wait_for(output: &mut impl Read, word: &str) {
    let mut text = String::new();
    while !text.contains(word) {
        let mut byte = [0];
        assert_eq!(output.read(&mut byte).expect("output"), 1, "ended after {text:?}");
        text.push(byte[0] as char);
    }
}

/// A network beyond the host with one server in it, which says who called and what they said.
struct Outside {
    interface: String,
    address: Ipv4Addr,
    host_address: Ipv4Addr,
    port: u16,
}

impl Outside {
    fn new() -> Option<Self> {
        if Command::new("ip").arg("-V").output().is_err() {
            say("skipped: no `ip` to make a network with");
            return None;
        }
        let id = std::process::id();
        let (third, fourth) = ((id / 60 % 250) as u8, (id % 60 * 4) as u8);
        let host_address = Ipv4Addr::new(10, 202, third, fourth + 1);
        let address = Ipv4Addr::new(10, 202, third, fourth + 2);
        let outside = Self { interface: format!("out{id}"), address, host_address, port: 80 };
        outside.serve();
        Some(outside)
    }

    /// The namespace is that of the server's thread, and of the programs it starts.
    fn serve(&self) {
        let (namespace_made, made) = std::sync::mpsc::channel();
        let (pair_made, pair) = std::sync::mpsc::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let address = self.address;
        std::thread::spawn(move || {
            // SAFETY: descriptors stay shared; only this thread's network changes.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.expect("unshare");
            namespace_made.send(rustix::thread::gettid().as_raw_nonzero()).expect("send");
            pair.recv().expect("pair");
            ip(&format!("addr add {address}/30 dev eth0"));
            ip("link set eth0 up");
            let listener = TcpListener::bind("0.0.0.0:80").expect("server");
            ready.send(()).expect("ready");
            while let Ok((mut stream, caller)) = listener.accept() {
                let mut text = String::new();
                stream.read_to_string(&mut text).expect("read");
                let _ = stream.write_all(format!("{} says {text}", caller.ip()).as_bytes());
            }
        });
        let thread = made.recv().expect("namespace");
        ip(&format!("link add {} type veth peer name eth0 netns {thread}", self.interface));
        ip(&format!("addr add {}/30 dev {}", self.host_address, self.interface));
        ip(&format!("link set {} up", self.interface));
        pair_made.send(()).expect("send");
        is_ready.recv().expect("server");
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.interface));
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
