//! `GET /abx/v1/ports`: what listens inside, and whose it is.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use abx_protocol::private::{ListeningPort, Owner, Ports};
use http::{Response, StatusCode};

use crate::http::Body;
use crate::http::error::json;

/// A command line is cut to so many bytes.
const LONGEST_COMMAND: usize = 256;

pub(crate) fn ports() -> Response<Body> {
    json(StatusCode::OK, &Ports { ports: listening(Path::new("/proc")) })
}

/// The number of users of the host, whose ids mean nothing here.
const NOBODY_HERE: u32 = 65_534;

/// The TCP sockets that listen, in order of port and address. What the host itself listens on inside (names, relayed
/// ports) is left out.
fn listening(proc: &Path) -> Vec<ListeningPort> {
    let mut sockets = Vec::new();
    for table in ["net/tcp", "net/tcp6"] {
        let text = std::fs::read_to_string(proc.join(table)).unwrap_or_default();
        sockets.extend(text.lines().skip(1).filter_map(listener));
    }
    let owners = owners(proc);
    let mut ports: Vec<ListeningPort> = sockets
        .into_iter()
        .map(|Socket { address, user, inode }| (address, user, owners.get(&inode).cloned()))
        .filter(|(_, user, owner)| owner.is_some() || *user != NOBODY_HERE)
        .map(|(address, _, process)| ListeningPort {
            port: address.port(),
            address: address.ip().to_string(),
            process,
        })
        .collect();
    ports.sort_by(|a, b| (a.port, &a.address).cmp(&(b.port, &b.address)));
    // Several sockets of one server (SO_REUSEPORT) are one port.
    ports.dedup_by(|a, b| (a.port, &a.address) == (b.port, &b.address));
    ports
}

/// A socket that listens.
#[derive(Debug, PartialEq, Eq)]
struct Socket {
    address: SocketAddr,
    user: u32,
    inode: u64,
}

/// Reads a line of /proc/net/tcp (proc(5)): `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode …`,
/// state 0A is LISTEN.
fn listener(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    if fields.get(3) != Some(&"0A") {
        return None;
    }
    let (address, port) = fields.get(1)?.split_once(':')?;
    let address = SocketAddr::new(self::address(address)?, u16::from_str_radix(port, 16).ok()?);
    Some(Socket { address, user: fields.get(7)?.parse().ok()?, inode: fields.get(9)?.parse().ok()? })
}

/// Words of four bytes, each as a number of this machine.
fn address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(IpAddr::V4(Ipv4Addr::from(word(0)?))),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(index * 8)?);
            }
            Some(IpAddr::V6(Ipv6Addr::from(bytes)))
        }
        _ => None,
    }
}

/// Which process holds which socket; of several that share one, the eldest.
fn owners(proc: &Path) -> HashMap<u64, Owner> {
    let uptime = uptime();
    let mut owners: HashMap<u64, Owner> = HashMap::new();
    let Ok(entries) = std::fs::read_dir(proc) else { return owners };
    let mut pids: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    for pid in pids {
        let directory = proc.join(pid.to_string());
        let mut owner = None;
        for inode in sockets_of(&directory) {
            let owner = owner.get_or_insert_with(|| describe(&directory, pid, uptime));
            owners.entry(inode).or_insert_with(|| owner.clone());
        }
    }
    owners
}

fn sockets_of(directory: &Path) -> Vec<u64> {
    let _sight = Sight::of(directory);
    let descriptors = std::fs::read_dir(directory.join("fd")).into_iter().flatten().flatten();
    let sockets = descriptors.filter_map(|entry| {
        let target = std::fs::read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    });
    sockets.collect()
}

/// The calling thread looks with a process's own rights, until dropped: root here has none over the processes of others.
struct Sight;

impl Sight {
    fn of(directory: &Path) -> Option<Self> {
        let owner = directory.metadata().ok()?;
        set_file_ids(owner.uid(), owner.gid());
        Some(Self)
    }
}

impl Drop for Sight {
    fn drop(&mut self) {
        set_file_ids(rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    }
}

/// Of this thread alone.
fn set_file_ids(uid: u32, gid: u32) {
    // SAFETY: the calls touch no memory; where they are refused, less is seen.
    unsafe {
        libc::setfsgid(gid);
        libc::setfsuid(uid);
    }
}

fn describe(directory: &Path, pid: u32, uptime: f64) -> Owner {
    let text = |name: &str| std::fs::read(directory.join(name)).unwrap_or_default();
    let name = String::from_utf8_lossy(&text("comm")).trim_end().to_owned();
    let mut words = text("cmdline");
    words.truncate(LONGEST_COMMAND);
    let command =
        String::from_utf8_lossy(&words).split('\0').collect::<Vec<_>>().join(" ").trim_end().to_owned();
    let started = start_of(&String::from_utf8_lossy(&text("stat")));
    let age_seconds = started.map_or(0.0, |started| (uptime - started).max(0.0));
    Owner { pid, name, command, age_seconds }
}

/// Seconds since the machine's start, those it slept included, as in the times of processes.
fn uptime() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Seconds from the machine's start to the process's: the twenty-second field of /proc/PID/stat.
fn start_of(stat: &str) -> Option<f64> {
    let ticks: u64 = stat.rsplit(')').next()?.split_ascii_whitespace().nth(19)?.parse().ok()?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_read_in_both_families() {
        let line = |local: &str, state: &str| {
            format!(
                "   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000        0 4711 1"
            )
        };
        let read = |local: &str, state: &str| {
            listener(&line(local, state)).map(|socket| {
                assert_eq!((socket.user, socket.inode), (1000, 4711));
                socket.address.to_string()
            })
        };
        let loopback = format!("{:08X}:22B8", u32::from_ne_bytes([127, 0, 0, 1]));
        assert_eq!(read(&loopback, "0A"), Some("127.0.0.1:8888".to_owned()));
        assert_eq!(read(&loopback, "01"), None, "connected");
        assert_eq!(read("00000000:0050", "0A"), Some("0.0.0.0:80".to_owned()));
        let six = format!("{}{:08X}:0050", "0".repeat(24), u32::from_ne_bytes([0, 0, 0, 1]));
        assert_eq!(read(&six, "0A"), Some("[::1]:80".to_owned()));
        assert_eq!(read("00:0050", "0A"), None);
        assert_eq!(listener(""), None);
    }

    #[test]
    fn a_socket_of_this_process_is_found_with_its_process() {
        let socket = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0))
            .or_else(|_| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .expect("a listener");
        let address = socket.local_addr().expect("address");
        let found = listening(Path::new("/proc"));
        let port = found.iter().find(|port| port.port == address.port()).expect("found");
        assert_eq!(port.address, address.ip().to_string());
        let process = port.process.as_ref().expect("a process");
        assert_eq!(process.pid, std::process::id());
        assert!(!process.name.is_empty() && !process.command.is_empty(), "{port:?}");
    }

    #[test]
    fn the_start_is_read_behind_any_name() {
        let ticks = rustix::param::clock_ticks_per_second();
        let stat = format!("7 (a) b) S {} {} 0", "0 ".repeat(18).trim_end(), 3 * ticks);
        assert_eq!(start_of(&stat), Some(3.0));
        assert_eq!(start_of(""), None);
    }
}
