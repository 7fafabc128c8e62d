//! A network beyond this machine, and a resolver that knows names of it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

use rustix::thread::{UnshareFlags, gettid, unshare_unsafe};
use tempfile::TempDir;

use crate::skip;

/// Three addresses beyond this machine, in a network namespace of their own. On ports 80 and 443 of each somebody
/// answers everything with `hello from ADDRESS`. Gone when dropped.
#[derive(Debug)]
pub struct Outside {
    interface: String,
    first: u32,
}

/// Networks there are at once, of a process and of all.
const MOST: u32 = 16;
const NUMBERS: u32 = 8192;

/// No other of this process has it, nor one of a process that runs beside it.
fn number(next: &AtomicU32) -> u32 {
    std::process::id() % (NUMBERS / MOST) * MOST + next.fetch_add(1, Ordering::Relaxed) % MOST
}

impl Outside {
    /// `None`, with a word on stderr, where this machine cannot have one.
    pub fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || Command::new("ip").arg("-V").output().is_err() {
            skip("a network beyond this machine needs root and `ip`");
            return None;
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = number(&NEXT);
        let first = u32::from(Ipv4Addr::new(10, 203, 0, 0)) + number * 8;
        let outside = Self { interface: format!("beyond{number}"), first };
        outside.serve();
        Some(outside)
    }

    /// The address of number 0, 1 or 2.
    pub fn address(&self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 2 + number)
    }

    /// All of them and this machine's own end, as a network.
    pub fn network(&self) -> String {
        format!("{}/29", Ipv4Addr::from(self.first))
    }

    /// The namespace is that of the server's thread, and of the programs it starts.
    fn serve(&self) {
        let (namespace_made, made) = channel();
        let (pair_made, pair) = channel();
        let (ready, is_ready) = channel();
        let addresses: Vec<Ipv4Addr> = (0..3).map(|number| self.address(number)).collect();
        let host = Ipv4Addr::from(self.first + 1);
        std::thread::spawn(move || {
            // SAFETY: descriptors stay shared; only this thread's network changes.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("unshare");
            namespace_made.send(gettid().as_raw_nonzero()).expect("send");
            pair.recv().expect("pair");
            addresses.iter().for_each(|address| ip(&format!("addr add {address}/29 dev eth0")));
            ip("link set eth0 up");
            ip(&format!("route add default via {host}"));
            let servers: Vec<_> = [80, 443]
                .map(|port| TcpListener::bind(("0.0.0.0", port)).expect("server"))
                .into_iter()
                .map(|listener| std::thread::spawn(move || listener.incoming().flatten().for_each(greet)))
                .collect();
            ready.send(()).expect("ready");
            servers.into_iter().for_each(|server| drop(server.join()));
        });
        let thread = made.recv().expect("namespace");
        ip(&format!("link add {} type veth peer name eth0 netns {thread}", self.interface));
        ip(&format!("addr add {host}/29 dev {}", self.interface));
        ip(&format!("link set {} up", self.interface));
        pair_made.send(()).expect("send");
        is_ready.recv().expect("server");
    }
}

fn greet(mut stream: TcpStream) {
    let Ok(own) = stream.local_addr() else { return };
    // Whatever is said; who hangs up at once has reached it as well.
    let _ = stream.read(&mut [0; 1024]);
    let _ = stream.write_all(format!("hello from {}\n", own.ip()).as_bytes());
}

impl Drop for Outside {
    fn drop(&mut self) {
        // It goes with the namespace, too.
        let _ = Command::new("ip").args(["link", "del", &self.interface]).status();
    }
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What a resolver knows of a name.
#[derive(Clone, Debug)]
pub enum Known {
    Address(Ipv4Addr),
    /// Another name, and its address.
    Alias(&'static str, Ipv4Addr),
    /// More addresses than fit a datagram, this one the last.
    Many(Ipv4Addr),
}

/// A resolver on this machine's loopback, by datagram and connection, for programs that are started with it.
#[derive(Debug)]
pub struct Resolver {
    folder: TempDir,
}

impl Resolver {
    /// Knows these names; every other does not exist.
    pub fn new(names: &[(&str, Known)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 80, 0, 1)) + number(&NEXT));
        let folder = tempfile::tempdir().expect("tempdir");
        std::fs::write(folder.path().join("resolv.conf"), format!("nameserver {address}\n")).expect("file");
        let names: Vec<_> = names.iter().map(|(name, known)| ((*name).to_owned(), known.clone())).collect();
        let names = Arc::new(names);
        let datagrams = UdpSocket::bind((address, 53)).expect("a resolver");
        let connections = TcpListener::bind((address, 53)).expect("a resolver");
        let known = names.clone();
        std::thread::spawn(move || {
            let mut question = [0; 1024];
            while let Ok((length, client)) = datagrams.recv_from(&mut question) {
                let _ = datagrams.send_to(&answer(&known, &question[..length], 512), client);
            }
        });
        std::thread::spawn(move || {
            for mut stream in connections.incoming().flatten() {
                let _ = answer_one(&mut stream, &names);
            }
        });
        Self { folder }
    }

    /// The command as one that has this resolver, and all it starts.
    pub fn used_by(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("unshare");
        let script = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
        wrapped.args(["--mount", "--propagation", "private", "sh", "-c", script]);
        wrapped.arg(self.path()).arg(command.get_program()).args(command.get_args());
        wrapped.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        wrapped
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("resolv.conf")
    }
}

fn answer_one(stream: &mut TcpStream, names: &[(String, Known)]) -> std::io::Result<()> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut question)?;
    let answer = answer(names, &question, usize::from(u16::MAX));
    stream.write_all(&[&(answer.len() as u16).to_be_bytes()[..], &answer].concat())
}

/// RFC 1035: the header, the question, records whose name is the question's.
fn answer(names: &[(String, Known)], question: &[u8], most: usize) -> Vec<u8> {
    const HEADER: usize = 12;
    let (name, end) = name_of(question, HEADER);
    let end = (end + 4).min(question.len());
    let is_for_address = question.get(end - 3) == Some(&1);
    let mut records: Vec<Vec<u8>> = Vec::new();
    let known = names.iter().find(|(known, _)| *known == name).map(|(_, known)| known);
    let address = |owner: &[u8], address: &Ipv4Addr| {
        [owner, &[0, 1, 0, 1, 0, 0, 0, 60, 0, 4], &address.octets()].concat()
    };
    const OF_QUESTION: &[u8] = &[0xc0, 12];
    match known.filter(|_| is_for_address) {
        Some(Known::Address(own)) => records.push(address(OF_QUESTION, own)),
        Some(Known::Alias(other, own)) => {
            let other = labels(other);
            let head =
                [OF_QUESTION, &[0, 5, 0, 1, 0, 0, 0, 60], &(other.len() as u16).to_be_bytes()].concat();
            records.push([head, other.clone()].concat());
            records.push(address(&other, own));
        }
        Some(Known::Many(own)) => {
            records.extend((0..60).map(|last| address(OF_QUESTION, &Ipv4Addr::new(198, 51, 100, last))));
            records.push(address(OF_QUESTION, own));
        }
        None => {}
    }
    let mut bytes = question[..end].to_vec();
    let is_cut = end + records.iter().map(Vec::len).sum::<usize>() > most;
    if is_cut {
        records.clear();
    }
    bytes[2] = 0x81 | if is_cut { 2 } else { 0 };
    bytes[3] = 0x80 | if known.is_none() { 3 } else { 0 };
    bytes[6..HEADER].copy_from_slice(&[0, records.len() as u8, 0, 0, 0, 0]);
    bytes.extend(records.concat());
    bytes
}

fn name_of(bytes: &[u8], mut at: usize) -> (String, usize) {
    let mut parts = Vec::new();
    while let Some(length) = bytes.get(at).copied().map(usize::from).filter(|length| *length > 0) {
        let label = bytes.get(at + 1..at + 1 + length).unwrap_or_default();
        parts.push(String::from_utf8_lossy(label).to_ascii_lowercase());
        at += 1 + length;
    }
    (parts.join("."), at + 1)
}

fn labels(name: &str) -> Vec<u8> {
    let label = |label: &str| [&[label.len() as u8], label.as_bytes()].concat();
    [name.split('.').map(label).collect::<Vec<_>>().concat(), vec![0]].concat()
}
